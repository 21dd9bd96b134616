"""Whether the journal is whole (ring 1): chains, heads, snapshots, large answers, and where on disk a damage is. Changes nothing."""
