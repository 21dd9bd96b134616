"""Makes and restores backups, and moves databases. Rows are copied exactly, between SQLite and PostgreSQL, too."""
