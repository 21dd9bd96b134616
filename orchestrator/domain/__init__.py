"""Immutable value types that all parts of the orchestrator exchange: actors, effects, outcomes, replies, addresses, errors."""
