"""Heads of sales: who decides for whom, cards in their chats, reasons of denials, reminders, news of the rules. Ring 2."""
