"""Where files and folders live: put in place whole, opened only where they may be, checked by their own sums."""
