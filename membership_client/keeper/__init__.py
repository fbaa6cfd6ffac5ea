"""The keeper: a process that sends the heartbeats of this process while the interpreter is held. Loads as little as it can."""
