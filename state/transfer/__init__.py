"""Backups, their restore, and moves between databases: exact rows, independent of the kind of database."""
