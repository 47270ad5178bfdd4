"""Messages into turns, requests onto turns, text into chunks, selections into messages."""
