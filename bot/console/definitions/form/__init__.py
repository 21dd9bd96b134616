"""Fields made of a schema, another view of the text."""
