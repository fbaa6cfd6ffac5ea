"""The demonstration: a pipeline on a small Spark cluster of its own loses an executor, and no record.

All that happens is recorded as a list of values (`events`). The printed lines and the summary are computed from that
list alone.
"""
