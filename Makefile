# Works with GNU make 3.81 (macOS) and with BSD or GNU tools.
PYTHON ?= python3
BIN = .venv/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help run test lint types bench fmt view venv clean
# An interrupted installation leaves no half-made target behind, and two never write into one environment.
.DELETE_ON_ERROR:
.NOTPARALLEL:

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' Makefile

run: .venv/has-run ## compile the example kernel examples/rmsnorm_bwd.ane (installs the runtime dependencies only)
	$(BIN)/anedsl compile examples/rmsnorm_bwd.ane

test: .venv/has-test ## run the whole test suite, on all cores
	$(BIN)/python -m pytest -n auto

lint: .venv/has-lint ## check the code with ruff, and its formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/has-lint view ## check the types with mypy
	$(BIN)/mypy -p anedsl

bench: .venv/has-test ## run every benchmark
	@set -e; for file in $(sort $(wildcard tests/bench/bench_*.py)); do \
	    echo "== $$file"; PYTHONPATH=. $(BIN)/python $$file; \
	done

fmt: .venv/has-lint ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix-only --quiet
	$(BIN)/ruff format

# mypy finds a package by its folder's name; here the folders dsl, codegen and grammar are put together as `anedsl`.
view: ## lay the tree of symbolic links that mypy reads the package from
	@rm -rf .view && mkdir -p .view/anedsl
	@for entry in dsl/* codegen grammar; do ln -s "../../$$entry" .view/anedsl/; done

venv: .venv/has-dev ## make .venv with everything a developer needs

clean: ## remove what was built and cached (not .venv)
	rm -rf .view build dist anedsl.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find codegen dsl grammar tests -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment that grows: `run` must not wait for torch, which only the tests need.
# The sources are compiled once: where PYTHONDONTWRITEBYTECODE is set, every start would do it again.
.venv/has-run: pyproject.toml $(BIN)/python
	$(PIP) install --quiet --editable .
	@$(BIN)/python -m compileall -q dsl codegen grammar
	@touch $@

.venv/has-%: pyproject.toml $(BIN)/python
	$(PIP) install --quiet --editable '.[$*]'
	@$(BIN)/python -m compileall -q dsl codegen grammar
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo 'anedsl needs Python 3.11 or later as $(PYTHON); name another one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { \
	    echo 'this Python cannot make virtual environments; install its venv package (Debian, Ubuntu: apt install python3-venv)' >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
