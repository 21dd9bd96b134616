"""Verifies that the journal is intact, and finds where on disk damage is. Changes nothing.

It checks the hash chains, their separately stored ends, the snapshots and the large answers.
"""
