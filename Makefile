# Every command of the project. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
EXTRAS := .venv-extras
EXTRAS_READY := $(EXTRAS)/.ready
# The CPU build where pip offers one first: whatever asks for torch later is content with it.
TORCH := torch==2.13.0

.PHONY: help setup demo test test-slow test-extras lint check format bench clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("vecctx needs Python 3.11 or newer, and this is " + sys.version.split()[0] + "; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev --editable .
	@touch $(READY)

$(EXTRAS_READY): pyproject.toml
	$(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(EXTRAS)/bin/python -m pip install --quiet $(TORCH)
	$(EXTRAS)/bin/python -m pip install --quiet --group dev --group extras --editable '.[sentence-transformers]'
	@touch $(EXTRAS_READY)

setup: $(READY) ## an environment in .venv with everything but torch

demo: $(READY) ## index a real conversation of 105,000 tokens and ask it questions, offline
	$(BIN)/vecctx demo

test: $(READY) ## the tests, without the slow ones
	$(BIN)/python -m pytest -n 2

test-slow: $(READY) ## the slow tests: crashes, builds, the demo in a bare environment
	$(BIN)/python -m pytest -m 'slow and not extras'

test-extras: $(EXTRAS_READY) ## the tests with sentence-transformers and torch, in .venv-extras
	$(EXTRAS)/bin/python -m pytest -m extras

lint: $(READY) ## form, rules, types and the rooms
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## what a change must pass before it is committed

format: $(READY) ## put the code into its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## the yardstick: make bench DATA=path/to/conversations.jsonl
	$(BIN)/python -m benchmarks.run "$(DATA)"

clean: ## remove what make made
	rm -rf $(VENV) $(EXTRAS) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
