"""Workflows on records: the block of a run, its snapshots, and the conflict of its changes with those of people (S003-54, S003-X10)."""
