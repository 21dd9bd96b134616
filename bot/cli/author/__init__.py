"""The commands of authors: new, check, draw, try, test, record, whatever the kind of definitions, and the groups of single kinds."""
