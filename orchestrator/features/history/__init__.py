"""Who changed a record, from the journal across sessions: an index of records, the command /history and its pages."""
