"""Verifies that the journal is intact, and finds where damage is."""
