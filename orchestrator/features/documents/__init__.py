"""The company's documents by chat: an administrator lists, adds and removes them."""
