"""A Telegram Bot API and a chat page on loopback: a process of its own, never imported by the product."""
