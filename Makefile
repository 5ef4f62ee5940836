# `make` alone lists what there is. Everything needed is fetched and kept: .venv here, the rest in the user's cache folder.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

BIN := .venv/bin
READY := .venv/.ready
CLUSTER := $(BIN)/python -m tests.cluster.localcluster
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make requirements" $(UPGRADE)

export PATH := $(CURDIR)/$(BIN):$(PATH)

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)$$/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(READY) ## make .venv with everything in it, `cox` too

# Debian keeps venv out of python3. A half-made environment is made anew: the stamp is the last thing written.
$(READY): requirements/uv.txt requirements/all.txt pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Coxswain needs Python 3.11 or newer as python3; this is $$(python3 --version)." >&2; exit 1; }
	@python3 -c 'import ensurepip, venv' 2>/dev/null || $(MAKE) --no-print-directory python3-venv
	@echo "== Making .venv (5 GB with PyTorch; about a minute, longer the first time)"
	@test -x $(BIN)/uv || { python3 -m venv --clear .venv; \
		$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt; }
	@$(BIN)/uv pip sync --quiet --require-hashes requirements/all.txt requirements/uv.txt
	@$(BIN)/uv pip install --quiet --no-build-isolation --no-deps --editable .
	@touch $@

.PHONY: python3-venv
python3-venv:
	@if test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
		echo "== Installing python3-venv"; apt-get -qq update && apt-get -qq install --yes --no-install-recommends python3-venv >/dev/null; \
	else echo "Python's venv module is missing: install it (on Debian: apt-get install python3-venv) and try again." >&2; exit 1; fi

cluster: $(READY) ## start a Kubernetes on this machine (Linux, root); prints the KUBECONFIG to export
	@$(CLUSTER) up

cluster-down: $(READY) ## stop it and remove all traces
	@$(CLUSTER) down
