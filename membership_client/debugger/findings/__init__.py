"""One file per kind of finding, each a pure function of a group's history."""
