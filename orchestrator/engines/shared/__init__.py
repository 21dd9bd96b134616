"""Words that several engines share, and that the doors know: launch parameters, budgets, texts with blocks."""
