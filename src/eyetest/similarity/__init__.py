"""Which items are alike: vectors of texts and images, stored with a benchmark, and searches among them."""
