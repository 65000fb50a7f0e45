"""The documentation: its commands, its site, its search."""
