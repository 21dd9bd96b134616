"""The types of runes of the program itself, by subject."""
