"""Self-contained pages made from tables and findings, and the figures in them."""
