"""Approval of requests by leads (heads of sales).

It covers who decides for whom, cards in the chats of leads, reasons of denials, reminders, and messages about changes of the policy.
"""
