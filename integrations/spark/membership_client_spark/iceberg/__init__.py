"""An Iceberg table that has every record exactly once."""
