# The one door to the project: plain `make` lists what can be asked.
# Needs make, git and a Python of at least 3.11 with venv; everything else goes into .venv from requirements.lock.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHONS := python3 python3.13 python3.12 python3.11 python
CODE := $(wildcard src tests bench)

# What a caller may set: make parity-fuzz N=600 SEED=7 FAMILY=spread
N ?= 200
SEED ?=
FAMILY ?=
CASES ?=
WORKLOADS ?=
FLOOR_SHARE ?=
HISTORY ?=
ONE ?=
FOR ?=

.PHONY: help
help:  ## list what can be asked
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The environment is made once, and again when the lock file or the package's metadata change.
$(READY): requirements.lock pyproject.toml
	@for python in $(PYTHON) $(PYTHONS); do \
	  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
	  echo "make: no Python of at least 3.11 with venv and pip among: $(strip $(PYTHON) $(PYTHONS))." >&2; \
	  echo "      Install one (Debian: python3 and python3-venv), or name one: make PYTHON=/path/to/python3" >&2; \
	  exit 1; \
	fi; \
	echo "making $(VENV) with $$found" >&2; \
	"$$found" -m venv $(VENV) >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . >&2
	@touch $@

.PHONY: test
test: lint pytest  ## everything that needs nothing else: lint, types, room contracts, tests

.PHONY: check
check: format test  ## what to run before a commit: format, then test

.PHONY: lint
lint: $(READY)  ## ruff, formatting, mypy strict, room contracts
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy --no-error-summary $(CODE)
	@$(BIN)/lint-imports --no-logo > $(VENV)/contracts.txt 2>&1 || { cat $(VENV)/contracts.txt >&2; exit 1; }

.PHONY: pytest
pytest: $(READY)  ## unit, architecture and documentation tests, in random order
	$(BIN)/python -m pytest

.PHONY: format
format: $(READY)  ## write the code the way ruff would
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format --quiet .

.PHONY: up
up: $(READY)  ## watch a hundred pretend nodes being scheduled, live (FOR=20s ends by itself)
	@$(BIN)/bayplan demo $(if $(FOR),--for $(FOR))

.PHONY: dist
dist: $(READY)  ## build a wheel and try it in an empty environment
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .
	$(BIN)/python -m pytest -m slow tests/installed
	@ls dist/*.whl

.PHONY: parity
parity: $(READY)  ## compare with stored answers of kube-scheduler (CASES="file ...")
	@$(BIN)/python -m tests.parity.stored $(CASES)

.PHONY: parity-fuzz
parity-fuzz: $(READY)  ## compare with kube-scheduler's own code on random clusters (N=, SEED=, FAMILY=)
	@$(BIN)/python -m tests.parity.fuzz --n $(N) $(if $(SEED),--seed $(SEED)) $(if $(FAMILY),--family $(FAMILY))

.PHONY: engine-check
engine-check: $(READY)  ## compare what is remembered with what is recomputed, over random histories (N=, SEED=)
	@$(BIN)/python -m tests.engine.check --oracle --n $(N) $(if $(SEED),--seed $(SEED))

.PHONY: histories
histories: $(READY)  ## live through simulated histories of a cluster, with faults (N=, SEED=; ONE=seed sees one again)
	@$(BIN)/python -m tests.histories.run --n $(N) $(if $(SEED),--seed $(SEED)) $(if $(ONE),--one $(ONE))

.PHONY: batch-histories
batch-histories: $(READY)  ## live through histories of the batch lane: queues, gangs, limits (N=, SEED=)
	@$(BIN)/python -m tests.batch.run --n $(N) $(if $(SEED),--seed $(SEED))

.PHONY: control-plane
control-plane: $(READY)  ## build etcd, Kubernetes' programs and kubectl, once, and name them
	@$(BIN)/python -m tests.cluster.programs

# Clients by others, in an environment of their own: the project needs none of them.
CLIENTS := $(VENV)/clients/.ready
$(CLIENTS): tests/cluster/clients/requirements.lock $(READY)
	@$(BIN)/python -m venv $(VENV)/clients
	@$(VENV)/clients/bin/python -m pip install --quiet --disable-pip-version-check --requirement $< >&2
	@touch $@

.PHONY: playground-check
playground-check: $(READY) $(CLIENTS)  ## try kubectl on the playground, and compare it with a real kube-apiserver
	@$(BIN)/python -m pytest -m slow tests/cluster --ignore-glob='*/test_live*'

.PHONY: test-cluster
test-cluster: $(READY)  ## run the daemon on a real etcd and kube-apiserver, beside a real kube-scheduler
	@$(BIN)/python -m pytest -m slow tests/cluster/test_live*.py

.PHONY: playground-differences
playground-differences: $(READY)  ## list anew where the playground's objects differ from a real server's
	@$(BIN)/python -m tests.cluster.test_differential

.PHONY: playground-fields
playground-fields: $(READY)  ## write anew which fields each kind has, from a real API server
	@$(BIN)/python -m tests.cluster.fields

.PHONY: bench-playground
bench-playground: $(READY)  ## measure the playground beside a real kube-apiserver: requests, watchers, a long list, memory
	@$(BIN)/python -m bench.playground

.PHONY: bench-live
bench-live: $(READY)  ## measure the daemon, kube-scheduler and a bare client in turn on a real API server
	@$(BIN)/python -m bench.live

.PHONY: bench-batch
bench-batch: $(READY)  ## measure sessions of the batch lane against their limits (WORKLOADS="session gangs")
	@$(BIN)/python -m bench.batch $(WORKLOADS)

.PHONY: bench-engine
bench-engine: $(READY)  ## measure decisions against their floors (WORKLOADS="a b", FLOOR_SHARE=0.5)
	@$(BIN)/python -m bench.engine $(if $(FLOOR_SHARE),--floor-share $(FLOOR_SHARE)) $(if $(HISTORY),--history $(HISTORY)) $(WORKLOADS)

.PHONY: bench-simulate
bench-simulate: $(READY)  ## simulate a day of 100,000 jobs on 1,000 nodes within its limit (FLOOR_SHARE=0.5)
	@$(BIN)/python -m bench.simulate $(if $(FLOOR_SHARE),--floor-share $(FLOOR_SHARE))

.PHONY: bench-core
bench-core: $(READY)  ## measure the whole core against its limits (WORKLOADS="a b", FLOOR_SHARE=0.5)
	@$(BIN)/python -m bench.core $(if $(FLOOR_SHARE),--floor-share $(FLOOR_SHARE)) $(WORKLOADS)

.PHONY: golden
golden: $(READY)  ## write the expected texts of tests/golden anew; review the diff
	$(BIN)/python -m pytest --golden tests

.PHONY: lock
lock: $(READY)  ## resolve requirements.lock anew from pyproject.toml
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "make lock: needs a .venv of Python 3.11, the oldest that the pins must serve: make clean, then make lock PYTHON=python3.11")'
	@empty=$$(mktemp -d) && trap 'rm -rf "$$empty"' EXIT && $(BIN)/python -m venv "$$empty" \
	  && "$$empty/bin/python" -m pip install --quiet --disable-pip-version-check '.[dev]' >&2 \
	  && { grep '^#' requirements.lock; "$$empty/bin/python" -m pip freeze --exclude bayplan; } > "$$empty/lock" \
	  && cp "$$empty/lock" requirements.lock

.PHONY: clean
clean:  ## remove what make made
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
