"""Features of the conversation: voice messages, edited and forwarded messages, and the command /stop with its queue of requests."""
