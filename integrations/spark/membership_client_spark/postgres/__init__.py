"""A PostgreSQL table that has every record exactly once."""
