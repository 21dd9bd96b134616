"""Scenarios: scripted dialogues that a sales lead can write (S000). `engine.py` plays them; `steps/` has their types of steps."""
