"""Talking like a person: voice, edits, forwards, queues. Ring 2."""
