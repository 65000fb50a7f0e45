"""Pages on which people view items and decide about them, served, or written as a bundle of files."""
