"""Who changed a record, as the journal knows it across sessions: an index of the records, the command, the pages."""
