"""Sales tasks with their right answers, wrong ones and attacks, played through the real product; the portal's ledger judges (`make arena`)."""
