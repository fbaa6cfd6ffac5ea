"""The demonstration: a pipeline on a small Spark cluster of its own loses an executor, and no record.

Whatever happens is recorded as a list of values (`happenings`). What is printed and the summary are computed from that
list and from nothing else.
"""
