# Every command of the project. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test test-slow check format bench clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("vecctx needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --group dev --editable .
	@touch $(READY)

setup: $(READY) ## an environment in .venv with everything but torch

demo: $(READY) ## index a real 115k-token conversation and ask it questions, offline
	$(BIN)/vecctx demo

test: $(READY) ## the tests, without the slow ones
	$(BIN)/python -m pytest -n 2

test-slow: $(READY) ## the slow tests: crashes, builds, the demo in a bare environment
	$(BIN)/python -m pytest -m slow

check: $(READY) ## everything that CI checks but the slow tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2

format: $(READY) ## put the code into its form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## the yardstick: make bench DATA=path/to/conversations.jsonl
	$(BIN)/python -m benchmarks.run "$(DATA)"

clean: ## remove what make made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
