"""Flows: several agents that work one after another on one task, in the order that a definition draws (S002)."""
