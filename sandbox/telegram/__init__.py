"""A fake Telegram for demos and tests: the Bot API and a web page with chats, on a loopback port.

It runs in a process of its own and is never imported by the product.
"""
