# make up            install what is missing and run Pumice in the foreground
# make test          install what is missing and run all checks and tests
# make databases     run the tests of what has a database on MariaDB and on PostgreSQL too
# make crash         kill -9 of whole services in twenty rounds in place of the tests' two
# make faults        twenty rounds of faults of all kinds on MariaDB, RabbitMQ and etcd, of each service and of both
# make conformance   run Tempest against the Pumice that `make up` runs
# make benchmark     measure Pumice beside the real Cinder and Manila: PEER= their script, DIR= where it has put them
# make lock          write requirements.lock anew from pyproject.toml

SHELL := /bin/sh
BIN := .venv/bin
# Pumice mounts file systems, tests make network namespaces too: a user runs them through sudo, which leaves no files here.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo -E -H env PYTHONDONTWRITEBYTECODE=1)
TESTS := tests/kernel tests/block tests/share
WHERE_DATABASES_DIFFER := tests/kernel/db tests/kernel/operations tests/kernel/test_quotas.py tests/kernel/test_moves.py \
    tests/kernel/test_services.py tests/kernel/scheduling/test_pool.py tests/block/test_races.py tests/block/test_migrations.py \
    tests/share/test_races.py tests/share/test_migrations.py
export HYPOTHESIS_STORAGE_DIRECTORY := /tmp/pumice-hypothesis

.PHONY: up test check databases crash faults conformance benchmark lock install install-dev

up: install
	@exec $(if $(shell command -v sudo),$(AS_ROOT)) $(BIN)/pumice up $(ARGS)

test: check
	$(AS_ROOT) $(BIN)/pytest -p no:cacheprovider $(ARGS)
	$(if $(ARGS),,@$(MAKE) databases TESTS="$(WHERE_DATABASES_DIFFER)")

databases: install-dev
	$(AS_ROOT) $(BIN)/pytest -p no:cacheprovider $(TESTS) --database mariadb $(ARGS)
	$(AS_ROOT) $(BIN)/pytest -p no:cacheprovider $(TESTS) --database postgresql $(ARGS)

crash: install-dev
	$(AS_ROOT) $(BIN)/pytest -p no:cacheprovider tests/faults/test_crash.py --crash-rounds 20 --timeout 3600 $(ARGS)

faults: install-dev
	$(AS_ROOT) $(BIN)/pytest -p no:cacheprovider tests/faults/test_many.py --crash-rounds 20 --database mariadb \
	    --log-cli-level INFO --timeout 7200 $(ARGS)

check: install-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

conformance:
	conformance/run $(ARGS)

benchmark:
	@scripts/install benchmark
	$(BIN)/python benchmarks/side_by_side.py $(PEER) $(DIR) $(ARGS)

install:
	@scripts/install up

install-dev:
	@scripts/install dev

lock:
	scripts/lock
