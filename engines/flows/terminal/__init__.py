"""The command group `sdelka flow`: what authors of flows do with their files and with the flows that are published."""
