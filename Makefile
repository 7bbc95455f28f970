# One entrance: `make` lists the recipes.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps
QUICK  := .venv-quick
PAGES  := src/tacit/doors/server/pages/static
# The heart of each chapter, as far as it runs without Spark, JAX, Numba and a browser, which `make quick` does not install.
HEART  := tests/test_layers.py tests/test_style.py tests/privacy/test_loss.py tests/accounting/test_filter.py tests/accounting/ledger/test_units.py \
          tests/mechanisms/test_laplace.py tests/data/catalog/test_catalog.py tests/data/prepare/test_verdict.py tests/query/test_golden.py \
          tests/query/price/test_stability.py tests/release/test_once.py tests/release/test_answer.py tests/publish/local/estimates/test_estimate.py \
          tests/publish/tables/test_anonymized.py tests/evidence/verify/test_contract.py tests/doors/cli/test_commands_options.py
# Tests are compiled once and not by each worker; a file is run by one worker, so that what its tests share is made once.
TESTED := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
SPREAD := -n auto --dist loadfile
SHELL  := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-spark quick check console proofs verify theorems kills mutants everything bench docs clean

help:  ## list the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMPS)/base  ## make an environment in .venv with tacit and what it needs to run

demo: $(STAMPS)/base  ## the main job on generated data, in under a minute
	@$(BIN)/tacit demo

test: $(STAMPS)/all check  ## everything that must hold, in its quick form
	$(TESTED) --doctest-modules src tests -m "not slow" $(SPREAD) -q --durations 25

test-spark: $(STAMPS)/all  ## the engine on Apache Spark alone, in its full form: what is equal on both engines, a cluster, and faults
	HYPOTHESIS_PROFILE=verify $(TESTED) $$(find tests -name "test_*spark*.py") -v -n0 --timeout 3600 --durations 25

quick: $(QUICK)/.stamps/quick  ## the inner loop, in under a minute, in a small environment: lint, layers, and the heart of each chapter
	$(QUICK)/bin/ruff check -q src tests
	PYTHONDONTWRITEBYTECODE= $(QUICK)/bin/python -m pytest $(HEART) -m "not slow" $(SPREAD) -q

check: $(STAMPS)/all  ## formatting, lint and types
	$(BIN)/ruff format --check src tests benchmarks proofs
	$(BIN)/ruff check src tests benchmarks proofs
	$(BIN)/mypy

console:  ## bundle the editor of the console (Node 18 or newer), from the packages of console/package-lock.json
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' 2> /dev/null \
	  || { echo "make console needs Node 18 or newer, with npm"; exit 2; }
	cd console && npm ci --ignore-scripts --no-audit --no-fund --silent && node build.js ../$(PAGES)

proofs: $(STAMPS)/all  ## proofs whose code has changed; ACCEPT="PAGE ..." after reading them again
	@$(BIN)/python tests/support/fingerprints.py $(ACCEPT)

verify: $(STAMPS)/all  ## the full statistical and scale tests, and the measured epsilon of every mechanism
	HYPOTHESIS_PROFILE=verify $(TESTED) tests -m slow -q --timeout 7200 $(APART)
	$(BIN)/tacit verify

theorems: $(STAMPS)/all  ## the theorems of proofs/ by Coq, planted mistakes, and the code that runs against what is extracted; minutes
	@$(BIN)/python proofs/check.py

kills: $(STAMPS)/all  ## a thousand kill -9 of processes that spend from one ledger, on SQLite and on PostgreSQL
	$(TESTED) tests/accounting/ledger/test_crash.py -m slow -v -n0

mutants: $(STAMPS)/all  ## single-token edits of the mechanisms that no test notices; hours, goes on where it was ended (MODULES="laplace ...")
	@$(BIN)/python tests/support/mutants.py $(MODULES)

everything: $(STAMPS)/all  ## test, verify, kills, test-spark and mutants, with a summary; goes on where it was ended (STEPS="kills ...")
	@$(BIN)/python tests/support/everything.py $(STEPS)

bench: $(STAMPS)/all  ## measure, and write the tables of benchmarks/README.md (FULL=1 for all sizes)
	$(BIN)/python -m benchmarks

docs: $(STAMPS)/all  ## build the documentation into site/
	@$(BIN)/python docs/.hooks/command_line.py
	@$(BIN)/python docs/.hooks/lecture_items.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html; its search box needs a server: $(BIN)/python -m http.server --directory site"

clean:  ## remove the environment and what was built
	rm -rf console/node_modules $(PAGES)/editor.* $(VENV) $(QUICK) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python $(QUICK)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
	  || { echo "tacit needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -m venv $(@:/bin/python=) \
	  || { rm -rf $(@:/bin/python=); echo "python could not make an environment; on Debian and Ubuntu: apt install python3-venv"; exit 2; }

$(STAMPS)/base: $(VENV)/bin/python pyproject.toml
	@echo "installing tacit into $(VENV) (once; a minute or two)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/all: $(STAMPS)/base
	@echo "installing what the tests, benchmarks and docs need into $(VENV) (once)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,docs,bench]"
	@mkdir -p $(STAMPS) && touch $@

$(QUICK)/.stamps/quick: $(QUICK)/bin/python pyproject.toml
	@echo "installing tacit and what its quick tests need into $(QUICK) (once; 700 MB)"
	$(QUICK)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[quick]"
	@mkdir -p $(@D) && touch $@
