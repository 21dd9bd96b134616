"""Verifies that the journal is intact (chains, heads, snapshots, large answers), and finds where on disk damage is. Changes nothing."""
