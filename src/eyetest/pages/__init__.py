"""How any page is made: layout, colours, plots, items with their pictures."""
