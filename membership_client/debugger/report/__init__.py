"""Traces as a picture: one page for a browser, or a file for Perfetto."""
