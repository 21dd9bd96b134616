"""Reports from the journal; only `erasure` and `restore` change stored data."""
