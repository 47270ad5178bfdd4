"""Candidates by meaning and by words."""
