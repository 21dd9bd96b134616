"""What authors of scenarios use before anything runs: the JSON Schema, the pages about step types, pictures of the graph. Pure."""
