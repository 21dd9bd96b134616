"""Approvals: the cards that wait for a decision and those that were decided, and the decisions made on these pages."""
