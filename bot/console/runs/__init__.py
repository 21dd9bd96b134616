"""Runs: the list of them, and one run with its graph, its nodes, what it shows, waits for and gives. A run is one execution."""
