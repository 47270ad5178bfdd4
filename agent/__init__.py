"""A small reference host for context engines: how an engine lives in an agent, readable in an hour."""
