"""The keeper: a process that sends heartbeats while the interpreter of its parent is held. It imports as little as it can."""
