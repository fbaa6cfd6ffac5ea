"""Tests of the Spark integration. Whatever is imported from here finds pyspark: it is installed first, if need be."""

from importlib.util import find_spec

if find_spec("pyspark") is None:
    from tests.needs import need

    need("spark")
