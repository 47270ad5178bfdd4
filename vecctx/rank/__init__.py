"""Lists of candidates into one order."""
