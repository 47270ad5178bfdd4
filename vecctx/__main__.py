"""`python -m vecctx`: the same as the command `vecctx`."""

from vecctx.cli import main

main(prog_name="vecctx")
