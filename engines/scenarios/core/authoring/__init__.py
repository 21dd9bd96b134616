"""What authors use before anything runs: JSON Schema, pages about step types, pictures of the graph. Pure."""
