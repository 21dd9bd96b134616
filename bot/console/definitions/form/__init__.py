"""The form of a definition: fields that are made of its schema, beside the text of which they are another view."""
