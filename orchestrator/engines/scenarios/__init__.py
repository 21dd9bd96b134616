"""Where packages of others imported the interface from before the engine had a folder of its own."""
