"""The command group `sdelka flow`."""
