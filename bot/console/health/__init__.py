"""The page of health: whether all that the bot needs works, what waits, and charts of what was done."""
