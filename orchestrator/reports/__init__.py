"""Reports for operators, computed from the journal. They send nothing, and only `erasure` and `restore` change stored data."""
