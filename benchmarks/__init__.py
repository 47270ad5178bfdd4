"""The project's yardstick: does the evidence for an answer get into the request, and what does it take."""
