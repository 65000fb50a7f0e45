"""Parts that formats share or that one format is too large to hold; no format lives here."""
