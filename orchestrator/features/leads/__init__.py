"""Approval by leads (heads of sales): who decides for whom, cards in their chats, denial reasons, reminders, news of the policy."""
