"""Rehearsals: runs that are played with their real engine, and with nothing of the outside. Authors try and test scenarios with them."""
