"""Daily help: /today, the morning digest (deals and tasks of the day), reminders, the evening summary. No language model is asked."""
