"""Leases: which incarnation of a slot may join. A ledger on the driver, and a connection to it from every slot."""
