"""The pages of conversations: the list, and one conversation turn by turn."""
