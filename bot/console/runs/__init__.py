"""The list of runs, and one run with its graph and nodes."""
