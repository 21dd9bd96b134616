"""A Telegram Bot API and a chat page on loopback, a process of its own: for the demo and for tests, never imported by the product."""
