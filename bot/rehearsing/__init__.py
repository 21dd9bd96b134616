"""Tries definitions without their outside, for the doors in which authors work."""
