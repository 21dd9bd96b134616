"""What ops ask of the journal: projections for reading, which change nothing and send nothing. Ring 2."""
