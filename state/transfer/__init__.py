"""Backups, restoring them, and moving between databases (ring 1): exact rows, whatever kind of database they come from or go to."""
