# Everything is run by these words; the first use makes .venv from the lock. Needs Python 3.11, 3.12 or 3.13 and make, nothing else.
PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] <= (3, 13)))' >/dev/null 2>&1 && echo $$p && break; done)
PIP := .venv/bin/python -m pip --disable-pip-version-check --quiet
# Puts the command `sdelka` into .venv/bin; the code stays in this folder.
INSTALL := $(PIP) install --no-deps --no-build-isolation --editable .
RUN := .venv/bin/python -m
# Folders of unit tests with servers, processes or whole databases; single slow tests elsewhere have the marker.
SLOW := bot/http_api engines/flows/http state/transfer reports
# Some machines forbid bytecode; the tests start hundreds of processes from the same code, and each would compile it again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo run test test-long quick check fmt style bench arena crash fuzz rows clean

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: .venv/.run ## a CRM, a messenger and a rule-based model on this machine with the real bot: prints one address
	@$(RUN) bot demo $(ARGS)

run: .venv/.run ## serve Telegram with the settings of the environment or .env
	@$(RUN) bot run

test: .venv/.dev ## what every commit keeps green, in about five minutes on two processors; says its CPU seconds
	@$(RUN) pytest -n 3 -m "not long and not crash_long" $(ARGS)  # three for two processors: some wait for other processes

test-long: .venv/.dev ## the other tests: crashes, PostgreSQL, browsers, processes, large properties; without a Chromium browser tests are skipped
	@$(RUN) pytest -n 3 -m "long and not crash_long" $(ARGS)

quick: .venv/.dev ## the pure and fast tests only, in about three minutes
	@$(RUN) pytest -n 2 tests/unit -m "not slow and not long and not crash_long" $(SLOW:%=--ignore=tests/unit/%) $(ARGS)

check: .venv/.dev ## style and its bars, types, import contracts, locks
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@.venv/bin/lint-imports --no-cache
	@$(RUN) tests.rows --check
	@$(RUN) tests.style --check

fmt: .venv/.dev ## put the code into the house's form
	@$(RUN) ruff format .
	@$(RUN) ruff check --fix .

bench: .venv/.bench ## measure; ONLY=name runs one, PAGE=file writes a page
	@$(RUN) bench $(if $(ONLY),--only $(ONLY)) $(if $(PAGE),--page $(PAGE))

arena: .venv/.dev ## sales tasks and attacks with a model that errs, judged by the portal's ledger; WORKBENCH=folder replays recorded runs too
	@$(RUN) tests.arena

crash: .venv/.dev ## the long form of the crash tests
	@$(RUN) pytest tests/crash -m "crash_long or not crash_long" $(ARGS)

fuzz: .venv/.dev ## 5,000 requests made from the description of the HTTP API, over a real socket
	@$(RUN) pytest tests/fuzz --hypothesis-profile long -s $(ARGS)

rows: .venv/.dev ## requirement rows without a test
	@$(RUN) tests.rows

style: .venv/.dev ## how far the code is from the house style, before and now; ARGS="--where keys" lists the places of one measure
	@$(RUN) tests.style $(ARGS)

clean: ## remove what the other words made
	rm -rf .venv build *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis

.venv/.made:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed and was not found on PATH" >&2; exit 1; }
	@$(PYTHON) -m venv .venv
	@touch $@

# The locks name everything, so pip need not resolve (--no-deps); its resolver refuses a lock when a newer release of an extra's package appears.
.venv/.run: requirements.lock .venv/.made
	@echo "setting up .venv (once, about a minute) ..."
	@$(PIP) install --require-hashes --no-deps -r requirements.lock
	@$(INSTALL)
	@touch $@

.venv/.dev: requirements-dev.lock .venv/.made
	@echo "setting up .venv with the tools (once, about two minutes) ..."
	@$(PIP) install --require-hashes --no-deps -r requirements-dev.lock
	@$(INSTALL)
	@touch $@ .venv/.run

.venv/.bench: requirements-bench.lock .venv/.dev
	@echo "adding the peers that are measured beside ours (once) ..."
	@$(PIP) install --require-hashes --no-deps -r requirements-bench.lock
	@touch $@
