"""Not there, as for users: kio imports it where it can, a third of a second in each of hundreds of Spark's processes."""

raise ImportError("hypothesis is not installed")
