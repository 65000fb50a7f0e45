"""Tables in CSV, TSV, Excel, JSON Lines, Parquet or Arrow, as rows of named values."""
