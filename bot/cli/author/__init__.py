"""The commands of authors for all kinds of definitions, and the groups of single kinds."""
