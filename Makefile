# What can be done in this checkout? `make help` tells.

PYTHON ?= python3
EXTRA ?= auto
TORCH_INDEX ?=
CATALOG ?= .muniment/sample
HOST ?= 127.0.0.1
PORT ?= 8000
PYTEST_ARGS ?=
BENCH_ARGS ?=

PACKAGES := evidence index models server eval muniment
IN_VENV := .venv/bin/
CHECKS := check-format check-lint check-types check-imports

.DEFAULT_GOAL := help
.PHONY: help setup serve test test-full soak bench check $(CHECKS) clean

help: ## this list
	@echo 'usage: make TARGET [NAME=value ...]'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'names: PYTHON=python3.12 (3.11 or newer), EXTRA=cpu or gpu (else what the machine has),'
	@echo '  TORCH_INDEX=URL (take torch from that package index, as one of CPU wheels),'
	@echo '  PYTEST_ARGS, BENCH_ARGS (passed on). Settings of pip (PIP_*) apply as they are.'

setup: ## .venv with what pyproject.toml asks for; done again only when that changed
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "setup: there is no $(PYTHON) here, and Muniment needs Python 3.11 or newer; install one, or name it: make PYTHON=python3.12" >&2; \
		exit 1; }
	@"$(PYTHON)" scripts/setup.py --extra "$(EXTRA)" --torch-index "$(TORCH_INDEX)"

serve: setup ## serve a catalog; builds the sample if there is none [PORT=8000 HOST=127.0.0.1 CATALOG=.muniment/sample]
	@exec $(IN_VENV)python -m muniment demo --catalog "$(CATALOG)" --host "$(HOST)" --port "$(PORT)"

test: setup ## the ordinary tests and doctests, under ten minutes on two cores
	$(IN_VENV)python -m pytest tests $(PACKAGES) --ignore=index/migrations --ignore-glob='*_peer.py' -m "not (soak or full or gpu)" \
		--numprocesses auto --maxprocesses 4 --dist loadfile $(PYTEST_ARGS)

test-full: setup ## what needs more than Python: package builds, Debian packages, heavy clients
	$(IN_VENV)python -m pytest tests -m full $(PYTEST_ARGS)

soak: setup ## the long tests, by hand
	$(IN_VENV)python -m pytest tests -m soak $(PYTEST_ARGS)

bench: setup ## measurements side by side with the peers, by hand
	$(IN_VENV)python -m muniment bench $(BENCH_ARGS)

check: setup ## formatting, lint, types and import contracts, under a minute; all of them, even when one fails
	@$(MAKE) --no-print-directory --keep-going $(CHECKS)

check-format:
	$(IN_VENV)ruff format --check .

check-lint:
	$(IN_VENV)ruff check .

check-types:
	$(IN_VENV)mypy $(PACKAGES) tests scripts

check-imports:
	$(IN_VENV)lint-imports

clean: ## removes .venv, caches and builds; keeps the catalogs in .muniment
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find $(PACKAGES) tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
