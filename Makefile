# Everything sets itself up: Python 3.11 or later and make are all that must be there.
# Run `make` for the list.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
SETUP := $(or $(PYTHON),python3) requirements/install.py
IN := .venv/bin/python requirements/toolchain.py
RUN := $(IN) run .venv/bin/python
UV := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-config --no-emit-index-url --no-emit-find-links

SOURCES ?=
FILES ?= 300
KEEP ?=
PIPELINE ?= tests/pipeline
DJANGO := layers/sedano/python/sedano/cli/templates/django
APP ?= examples.census.tasks:app
SET ?=
CDK ?=
CODE ?= .
STAGE ?= dev
SCALE ?= 1.0
EVENTS ?= 1000000 5000000
SEED ?= 20261120
JOBS ?= 2
MINUTES ?=
VERSION ?=
TARGET ?=
ifeq ($(SEED),random)
override SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif
TYPED := $(wildcard layers/sedano/python/sedano functions glue_jobs infra requirements benchmarks examples)
# What is deployed must be named: a default would put an example into somebody's account.
named = $(if $(filter file,$(origin $(1))),,$($(1)))
ON_AWS = $(RUN) -m infra.command $@ --app "$(call named,APP)" --code "$(call named,CODE)" --stage "$(STAGE)" $(SET) $(if $(CDK),-- $(CDK))

.PHONY: names-app help demo demo-orders test check fuzz mutants test-deploy test-spark35 prove bench bench-pipeline bench-deploy lint local synth bootstrap diff deploy variables destroy pins dist release docs clean setup setup-all setup-browser

help: ## this list
	@echo "sedano: tasks, events and documents on AWS with no servers to run"
	@echo
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */  make \1|/' | awk -F'|' '{printf "%-16s %s\n", $$1, $$2}'

demo-orders: setup-all ## orders to analytics: webhook, effects, sinks, traces and costs, with duplicates and kills (ORDERS=n)
	@$(RUN) -m examples.orders.demo $(if $(ORDERS),--orders $(ORDERS))

demo: setup-all ## a census of Python sources on a local AWS, with duplicates and kills (SOURCES=dir FILES=n KEEP=1)
	@$(RUN) -m examples.census.demo $(if $(SOURCES),--sources "$(SOURCES)") --files $(FILES) $(if $(KEEP),--keep)

test: setup-all setup-browser lint ## lint, types and every test, fast ones first (SEED=n, SEED=random, JOBS=1 for one process)
	@$(RUN) -m pytest --hypothesis-seed=$(SEED) -n $(JOBS:1=0)

check: lint ## what a change is checked by while it is made: lint, types, walls, and the quick files of tests/unit
	@$(RUN) -m pytest --quick -q --hypothesis-seed=$(SEED) tests/house tests/unit

prove: setup-all ## coordination at release size: millions of schedules, whole searches, every planted fault (SCALE=0.01, MINUTES=30)
	@$(RUN) -m tests.simulation.prove --scale $(SCALE) $(if $(MINUTES),--minutes $(MINUTES))
	@SEDANO_PROVE=$(SCALE) $(RUN) -m pytest tests/pipeline/test_commit.py

bench: setup-all ## the numbers the design is held to, with the peers measured in the same run (FULL=1: long ones at full size)
	@$(SETUP) bench
	@$(RUN) -m benchmarks $(if $(FULL),--full)

fuzz: setup ## hostile messages, files and texts for every reader and engine (MINUTES=10 SEED=n TARGET=worker)
	@$(RUN) -m tests.fuzz $(if $(MINUTES),--minutes $(MINUTES)) --seed $(SEED) $(foreach target,$(TARGET),--target $(target))

mutants: setup ## change the code in thousands of places: which changes does no test notice? (MINUTES=30 SEED=n TARGET="leases claim")
	@$(RUN) -m tests.mutants $(if $(MINUTES),--minutes $(MINUTES)) --seed $(SEED) $(foreach target,$(TARGET),--target $(target))

test-deploy: setup-all ## what is deployed can be trusted: every grant, two versions, faults, on a local AWS that enforces IAM (SCALE=0.1)
	@SEDANO_TRUST=$(SCALE) $(RUN) -m pytest tests/infra tests/deploy tests/trust

test-spark35: setup ## the pipeline's tests on Spark 3.5 (Glue 5.1, EMR 7; PIPELINE=files)
	@$(SETUP) spark35
	@SEDANO_SPARK=3.5 PYTHONPATH=$$(echo "$$PWD"/.venv-spark35/lib/python3*/site-packages) $(RUN) -m pytest $(PIPELINE)

bench-deploy: setup ## what a deployment weighs, and what a change of code touches
	@$(RUN) -m benchmarks.deploy

bench-pipeline: setup ## the history job beside Celery's State, DuckDB and Polars (EVENTS="1000000 5000000")
	@$(SETUP) bench
	@$(RUN) -m benchmarks.pipeline --events $(EVENTS)

lint: setup ## ruff and mypy
	@.venv/bin/ruff check .
	@.venv/bin/mypy $(TYPED)

local: names-app setup-all ## your app on a local AWS until Ctrl-C (APP=module:attribute CODE=dir SET="timeout=300")
	@$(RUN) -m sedano.local --app "$(APP)" --code "$(CODE)" $(foreach setting,$(SET),--set "$(setting)")

names-app:
	@$(if $(filter file,$(origin APP) $(origin CODE)),echo 'make local needs your app and the directory of its modules: make local APP=shop.tasks:app CODE=./shop' >&2; exit 2,:)

synth: setup ## the CloudFormation templates in build/cdk.out, and what they cost (APP= CODE= STAGE= SET="memory=1024")
	@$(ON_AWS)

bootstrap: setup ## prepare the AWS account of your credentials for the CDK, once (APP= CODE= STAGE=)
	@$(ON_AWS)

diff: setup ## what deploying would change (APP= CODE= STAGE= SET=)
	@$(ON_AWS)

deploy: setup ## your app into the AWS account of your credentials (APP= CODE= STAGE= SET= CDK="--require-approval never")
	@$(ON_AWS)

variables: setup ## the variables by which your program finds the stage, for a shell to evaluate (APP= CODE= STAGE=)
	@$(ON_AWS)

destroy: setup ## the stage away, with all it remembers unless it is production (APP= CODE= STAGE= SET= CDK=--force)
	@$(ON_AWS)

pins: setup ## pin what requirements/*.in ask for to today's versions
	@cd requirements && for set in build layer dev browser deploy docs ministack bench release spark35; do ../$(UV) $$set.in -o $$set.txt; done
	@$(UV) $(DJANGO)/requirements.in.tmpl -o $(DJANGO)/requirements.txt.tmpl

dist: setup ## the wheel and the sdist in dist/, the same bytes from the same commit
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .venv/bin/python -m hatchling build -d dist

release: setup ## build and check a release; with VERSION=0.1.0 also date the changelog, commit and tag it (nothing is pushed)
	@$(SETUP) release
	@.venv/bin/python -m requirements.release $(VERSION)

docs: ## the documentation as a site with search, in build/docs/index.html; it needs no server and no network to be read
	@$(SETUP) docs
	@rm -rf build/docs
	@.venv-docs/bin/python -m sphinx -q -W --keep-going -c docs/site -d build/doctrees docs build/docs
	@echo build/docs/index.html

clean: ## remove what was built (not the environments: rm -r .venv .venv-ministack node_modules)
	@rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -not -path './.venv*' -not -path './node_modules/*' -prune -exec rm -rf {} +

setup: ## the environment that the other commands need, and see to by themselves
	@$(SETUP) dev

setup-all:
	@$(SETUP) dev ministack

setup-browser: setup
	@($(SETUP) browser && $(RUN) requirements/chromium.py) || echo "tests of pages in a browser skip: it could not be had"
