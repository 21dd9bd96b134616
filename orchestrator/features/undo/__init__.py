"""Undo: a button click, a check of the records, and a confirmation card like any other."""
