"""Any table a person may have: CSV, TSV, Excel, JSON Lines, Parquet, Arrow; rows of named values come out."""
