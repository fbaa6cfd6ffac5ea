"""The demonstration: a group whose members are real processes, on a broker of its own.

Everything that happens is recorded as a list of values (`events`). The live view, the plain lines and the summary are
computed from this list alone.
"""
