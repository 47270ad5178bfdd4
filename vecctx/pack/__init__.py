"""An order of candidates into the budget."""
