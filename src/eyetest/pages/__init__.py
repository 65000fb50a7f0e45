"""Parts of all pages: layout, colours, plots, items with their images."""
