.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
DEMO := .venv-demo/bin
LOCK ?= requirements-demo.lock
PYTHONS ?= $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
COMPILE := uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links --upgrade
SHELL := /bin/bash

help:  ## what there is to make
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# Two environments: what the demo needs, and everything. Python compiles what it imports when it first does, which is a
# tenth of what is installed; only our own modules are compiled beforehand.
.venv-demo/ready: requirements-demo.lock
.venv/ready: requirements.lock
.venv/ready .venv-demo/ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --no-compile --no-deps --require-hashes -r $(filter %.lock,$^)
	$(@D)/bin/python -m pip install -q --no-deps --no-build-isolation -e .
	$(@D)/bin/python -m compileall -q src
	@touch $@

demo: .venv-demo/ready  ## a vault over a generated census of 1,000,000 people, at work
	rm -rf demo/vault demo/people.parquet demo/people.toml
	$(DEMO)/discreet demo

console: .venv-demo/ready  ## the same people behind the console in the browser, on a loopback address
	$(DEMO)/discreet demo --console

test: .venv/ready  ## lint, types, room contracts, and every test
	$(MAKE) --no-print-directory -j3 lint types tests

# Meanwhile mypy keeps one core busy for a minute. What the tests import, in hundreds of processes, is compiled once,
# also where the environment says that bytecode is not kept; and workers share the cores, so that none takes all for BLAS.
tests: export PYTHONDONTWRITEBYTECODE :=
tests: export OPENBLAS_NUM_THREADS := 1
tests: .venv/ready
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

house:  ## the package in a few numbers: lines, depth of imports, numeric constants, class names used twice
	$(PYTHON) -m tools.house src/discreet --chain

docs: .venv/ready  ## run every command and example of the docs, and check every link
	$(BIN)/python -m pytest tests/test_docs.py

site: .venv/ready  ## the docs as a site with a search, in dist/site; links and pictures are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "To read it: $(PYTHON) -m http.server -b 127.0.0.1 -d dist/site"

experiments: .venv/ready  ## the papers' experiments and the attacks: numbers as CSV and plots, in docs/experiments
	$(BIN)/python -m experiments

wheel: .venv/ready  ## the package, in dist
	rm -rf dist/*.whl dist/*.tar.gz src/discreet.egg-info  # which remembers files that are gone
	$(BIN)/python -m build -n -o dist . >/dev/null
	@ls dist/*.whl

wheelhouse: wheel  ## the package and all of LOCK for PYTHONS, in dist/wheelhouse, to install offline
	$(BIN)/python -m tools.wheelhouse $(LOCK) dist/wheelhouse $(PYTHONS)
	cp dist/*.whl dist/wheelhouse

sbom: .venv/ready  ## bills of materials (CycloneDX) of both locks, in dist
	mkdir -p dist
	for lock in requirements requirements-demo; do PYTHONWARNINGS=ignore::UserWarning $(BIN)/cyclonedx-py requirements \
		--pyproject pyproject.toml --output-reproducible -o dist/$$lock.cdx.json $$lock.lock || exit; done

lock:  ## pin the newest versions that fit pyproject.toml, with their hashes
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install -q uv
	.venv-lock/bin/$(COMPILE) --all-extras --group dev -o requirements.lock
	.venv-lock/bin/$(COMPILE) --extra server --group build -c requirements.lock -o requirements-demo.lock

clean:  ## remove what these commands made
	rm -rf .venv .venv-demo .venv-lock build demo dist bench/out mutants/out

.PHONY: help demo console test tests lint types bench soak mutants house docs site experiments wheel wheelhouse sbom lock clean
