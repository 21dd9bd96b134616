"""The command group `sdelka scenario`."""
