"""The commands `diagnose`, `replay` and `report`, and the texts they print."""
