"""What an engine offers to the doors. Nothing here names an engine."""
