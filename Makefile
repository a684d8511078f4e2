.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
SHELL := /bin/bash

help:  ## what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q --no-deps -r requirements.lock
	$(BIN)/python -m pip install -q --no-deps -e .
	$(BIN)/python -m compileall -q src  # a command that has to compile its own modules starts a fifth slower
	@touch $@

demo: .venv/ready  ## a vault over a generated census of 1,000,000 people, at work
	$(BIN)/python -m discreet.demo

console: .venv/ready  ## the same people behind the console in the browser, on a loopback address
	$(BIN)/python -m discreet.demo.console

test: lint types .venv/ready  ## lint, types, room contracts, then every test
	$(BIN)/python -m pytest -n auto --dist loadgroup

lint: .venv/ready  ## ruff and the room contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: .venv/ready  ## mypy --strict
	$(BIN)/mypy

bench: .venv/ready  ## the figures of the issues, each a ratio measured in one run
	$(BIN)/python -m bench

soak: .venv/ready  ## tests/trust in full length: kills, races, fuzzing; and ten rounds of new examples for property tests
	$(BIN)/python -m pytest tests/trust --soak --timeout 14400 -n auto --dist loadgroup
	for round in {1..10}; do $(BIN)/python -m pytest --soak -m hypothesis -n auto --dist loadgroup || exit; done

mutants: .venv/ready  ## small mistakes in a copy of the code, one at a time: do the tests notice? about half an hour
	$(BIN)/python -m mutants

docs: .venv/ready  ## run every command and example of the docs, and check every link
	$(BIN)/python -m pytest tests/test_docs.py

experiments: .venv/ready  ## the papers' experiments and the attacks: numbers as CSV and plots, in docs/experiments
	for name in relaxation cubes facts buckets sulq wide attacks; do $(BIN)/python -m experiments.$$name || exit; done

lock:  ## pin the newest versions that fit pyproject.toml
	$(PYTHON) -m pip install -q uv
	$(PYTHON) -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-header --no-emit-index-url --no-annotate -q --upgrade -o requirements.lock

clean:  ## remove what these commands made
	rm -rf .venv demo bench/out mutants/out

.PHONY: help demo console test lint types bench soak mutants docs experiments lock clean
