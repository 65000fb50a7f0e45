"""Convert datasets to benchmarks: readers read annotations, reformers turn these into items."""
