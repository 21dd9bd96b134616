"""Undo of a call by a button: the click, a check that the records are unchanged, and a confirmation card like any other."""
