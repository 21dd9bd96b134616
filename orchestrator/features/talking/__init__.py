"""Conversation features: voice messages, edited messages, forwards, and the queue after /stop."""
