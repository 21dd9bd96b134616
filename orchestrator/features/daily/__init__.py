"""Daily help: /today, the morning digest, reminders, the evening summary. Timers, inbox rows and outbox rows; no model."""
