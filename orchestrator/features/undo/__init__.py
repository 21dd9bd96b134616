"""Taking back what was done: the press of a button, a look at the records, and a card like any other."""
