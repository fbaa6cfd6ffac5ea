"""A Delta table that has every record exactly once."""
