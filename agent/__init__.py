"""A small reference host for context engines: how an engine lives in an agent, readable in an hour.

Start with `context_engine` (the contract), `loop` (a turn), `exchange` (a request) and `hooks` (calling an engine);
then `compaction` and `workers`, `messages`, `plugins` and `config`, and `context_compressor` (the built-in engine).
"""
