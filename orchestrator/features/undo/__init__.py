"""Undoing a call by a button: the click, a check that nobody has changed the records since, and a confirmation card for the undo."""
