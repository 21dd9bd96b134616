"""Value types shared by the whole orchestrator: actors, effects, outcomes, replies, addresses, errors. Frozen data only."""
