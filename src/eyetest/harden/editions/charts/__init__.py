"""Charts from tables: what a question computes, tables with other numbers, and how they are drawn."""
