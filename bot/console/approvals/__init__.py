"""Cards that wait and that were decided, and the decisions made here."""
