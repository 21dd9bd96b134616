"""Verifies that the journal is intact: chains, heads, snapshots, large answers, and where on disk damage is. Changes nothing."""
