"""Where packages of others import the interface from."""
