"""What `sdelka flow` and `sdelka workflow` have in common: files of definitions that name others, such as the agents of flows."""
