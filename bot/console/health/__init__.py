"""Whether all works, what waits, and charts."""
