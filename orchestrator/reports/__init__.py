"""Reports for operators: read-only projections of the journal that send nothing. Only erasing and restoring change stored data."""
