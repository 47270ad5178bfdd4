"""The real parts at the edge: SQLite, FAISS, the models."""
