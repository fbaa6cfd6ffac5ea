"""A Parquet directory that has every record exactly once."""
