"""Workflows: a graph of small units that draws itself from the variables they read and publish (seed 003)."""
