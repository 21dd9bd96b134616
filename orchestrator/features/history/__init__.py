"""The history of a record (who changed it), from the journal of all sessions: an index of records, and /history with its pages."""
