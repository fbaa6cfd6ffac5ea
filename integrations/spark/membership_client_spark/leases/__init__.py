"""Who may be the member of a slot: a ledger on the driver, and a line to it from every slot."""
