"""Numbers of the portal's records: a question of a closed grammar, counted by code over the mirror."""
