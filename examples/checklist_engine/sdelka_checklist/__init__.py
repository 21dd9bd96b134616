"""An engine of runs: checklists."""
