"""Runs that are played with their real engine, and with nothing of the outside."""
