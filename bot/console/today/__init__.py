"""The first page: what waits for somebody."""
