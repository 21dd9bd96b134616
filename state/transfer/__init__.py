"""Makes and restores backups, and moves databases between SQLite and PostgreSQL."""
