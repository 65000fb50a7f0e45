"""Wrong options that could be right, and are not: one module a way to make them."""
