"""The pages on which people look at items, served from memory or written as a bundle of files."""
