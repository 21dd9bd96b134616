"""Approval of requests by leads (heads of sales)."""
