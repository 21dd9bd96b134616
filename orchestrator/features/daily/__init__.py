"""Daily help: /today, the morning digest (what is due), reminders, the evening summary. No language model is asked."""
