"""Workflows on records: the block of a run, its snapshots, and conflicts with changes of people (S003-54, S003-X10)."""
