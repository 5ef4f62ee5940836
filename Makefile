# `make` alone lists the targets. What they need is fetched once and kept: Python's part in .venv, the slow rest
# (the Kubernetes programs, images) in the user's cache folder, by the hash of what it is made from.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help setup demo test lint java unit coverage test-cluster test-long examples cluster cluster-down bench crds chart requirements
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

BIN := .venv/bin
READY := .venv/.ready
CLUSTER := $(BIN)/python -m tests.cluster.localcluster
export PATH := $(CURDIR)/$(BIN):$(PATH)

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)$$/  make \1\t\2/p' Makefile | expand -t 22

setup: $(READY) ## make .venv with everything in it, `cox` too

DEADLINE ?= 60s
demo: $(READY) ## real training: a small experiment, what it says, then the most epochs for DEADLINE=60s
	@echo "== 16 short trainings; Ctrl-C is safe: make demo goes on where it was"
	@cox run examples/demo.yaml --parallelism 2 --out out/demo
	@echo "== The most epochs that are done within $(DEADLINE), by what was measured"
	@cox run examples/demo-job.yaml --from out/demo --deadline $(DEADLINE) --out out/demo-$(DEADLINE)

# Cluster tests leave half of two cores idle, so the unit tests run beside them.
test: lint java ## lint, unit and cluster tests (these need Linux and root)
	@echo "== Unit tests run beside the cluster tests; what they say comes last"
	@mkdir -p out
	@nice -n 5 $(MAKE) --no-print-directory unit > out/unit.log 2>&1 & unit=$$!; trap "kill $$unit" EXIT; failed=0; \
		$(MAKE) --no-print-directory test-cluster || failed=1; \
		wait $$unit || failed=1; trap - EXIT; cat out/unit.log; test $$failed = 0
	@echo "== All is well."

lint: $(READY) ## ruff, mypy and the one-way dependencies
	@echo "== Lint"
	@ruff check .
	@ruff format --check .
	@mypy operator tests benchmarks
	@PYTHONPATH=operator lint-imports

java: ; @command -v java >/dev/null || $(MAKE) --no-print-directory apt-default-jre-headless  # for Spark

unit: $(READY) java ## tests that need no cluster
	@echo "== Unit tests"
	@OMP_NUM_THREADS=1 pytest --numprocesses=auto --dist=worksteal -m "not long" $(COVERAGE) $(wildcard tests/unit tests/golden)

coverage: COVERAGE := --cov=coxswain
coverage: unit ## the same, and which lines they did not reach

test-cluster: $(READY) ## tests on a Kubernetes: a local one, or the one COXSWAIN_TEST_KUBECONFIG names
	@echo "== Cluster tests"
	@if test "$$(uname)-$$(id -u)-$${COXSWAIN_TEST_KUBECONFIG:-}" = Linux-0-; then $(CLUSTER) build; fi
	@pytest -m "not long" tests/cluster

test-long: $(READY) ## the tests that take minutes each: more shapes of workers, an operator killed twenty times
	@if test "$$(uname)-$$(id -u)-$${COXSWAIN_TEST_KUBECONFIG:-}" = Linux-0-; then $(CLUSTER) build; fi
	@pytest -m long tests

TOGETHER ?= 1
examples: $(READY) ## every example on a local cluster, with its table (some two hours; NAMES="demo courier" takes a part, TOGETHER=2 runs two at a time)
	@$(CLUSTER) build
	@$(BIN)/python -m tests.cluster.examples --together $(TOGETHER) $(NAMES)

cluster: $(READY) ## start a Kubernetes on this machine (Linux, root); prints the KUBECONFIG to export
	@$(CLUSTER) up

cluster-down: $(READY) ## stop it and remove all traces of it, also of a crashed one
	@$(CLUSTER) down

bench: $(READY) ## measure errors, calibration, queues and speed (half an hour)
	@$(BIN)/python -m benchmarks

crds: $(READY) ## copy the spec of a job into the template of an experiment
	@$(BIN)/python -m tests.contract.crds

chart: $(READY) ## copy the CRDs into the Helm chart, and what settings may be into its schema
	@PYTHONPATH=operator $(BIN)/python -m tests.contract.chart

# Everything at once first, so that the smaller files agree with it.
COMPILE = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make requirements" $(UPGRADE)
requirements: $(READY) ## pin the dependencies anew (UPGRADE=--upgrade takes the newest that fit)
	@echo "== Pinning what pyproject.toml asks for"
	@$(COMPILE) pyproject.toml --all-extras -o requirements/all.txt
	@$(COMPILE) pyproject.toml -c requirements/all.txt --extra operator --extra cli --extra dev -o requirements/dev.txt
	@for group in operator torch spark cli; do \
		$(COMPILE) pyproject.toml -c requirements/all.txt --extra $$group -o requirements/$$group.txt; \
	done
	@$(COMPILE) pyproject.toml -c requirements/all.txt -o requirements/core.txt
	@for tool in uv go; do $(COMPILE) requirements/$$tool.in -o requirements/$$tool.txt; done

# The stamp is written last: a half-made environment is finished by the next make.
$(READY): requirements/uv.txt requirements/all.txt pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Coxswain needs Python 3.11 or newer, and $$(command -v python3) is older: install a newer one." >&2; exit 1; }
	@python3 -c 'import ensurepip, venv' 2>/dev/null || $(MAKE) --no-print-directory apt-python3-venv
	@echo "== Making .venv (6 GB with PyTorch and Spark: a minute, or more where the network is slow)" >&2
	@test -x $(BIN)/uv || { python3 -m venv --clear .venv && \
		$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt; }
	@uv pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements/all.txt requirements/uv.txt
	@uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps --editable .
	@touch $@

# A Debian package by its name: what Python and Spark need that is not Python.
apt-%:
	@if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		echo "== Installing $*" && apt-get -qq update && \
		DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $* >/dev/null; \
	else \
		echo "Something is missing: install it (Debian's package is $*) and try again." >&2; exit 1; \
	fi
