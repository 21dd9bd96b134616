"""The history of a CRM record (who changed what), built from the journal of all sessions: record index, call audit, command /history."""
