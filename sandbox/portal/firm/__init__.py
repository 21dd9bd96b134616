"""Sandbox portal, the firm with a life: years of invented deals, moves, leads, calls, work and invoices beside the sample records."""
