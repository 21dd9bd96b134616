"""What an engine offers to the doors, and how the doors find it. Nothing here names an engine."""
