# Everything a contributor needs, from a fresh clone: `make help`.
# Needs git, make and a Python >= 3.11 that has pip and venv; installs only into this folder.

PYTHON ?= python3
UV_VERSION := 0.13.7
UV := .uv/uv-$(UV_VERSION)
LOCK := requirements.lock.txt
BIN := .venv/bin
OUT ?= outputs/first

export UV_PYTHON_DOWNLOADS := never
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# An environment active in the caller's shell must not be mistaken for ours.
unexport VIRTUAL_ENV
unexport PYTHONPATH
unexport PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup cuda train test soak check format lock bench clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.stamp  ## install everything, hash-checked, into .venv (once)

cuda: setup  ## let JAX use an NVIDIA GPU: its libraries into .venv, too (gigabytes; again after `make lock`)
	.uv/bin/uv pip install --python $(BIN)/python "jax[cuda13]==$$($(BIN)/python -c \
	    'from importlib.metadata import version; print(version("jax"))')"

train: setup  ## discover skills with a simulated A1, then see them (some minutes; OUT=outputs/first)
	@if test -e $(OUT)/config.json; then $(BIN)/ursa train --resume $(OUT); \
	else $(BIN)/ursa train --preset laptop --out $(OUT); fi
	@$(BIN)/ursa look $(OUT)

# Two halves side by side: JAX compiles on one core. Those that train to the end are here.
BESIDE := tests/run/test_learns.py tests/run/test_keeps_distance.py tests/run/test_ablations.py \
	tests/adapt tests/evaluate tests/repair tests/live/test_storm.py tests/live/test_stack.py \
	tests/test_readme.py tests/emulator tests/live/test_riser.py tests/robot \
	tests/run/test_collect.py tests/run/test_lease.py tests/run/test_pack.py tests/test_demo.py
HALF := .cache/beside.log
# Threads of linear algebra spin and wait for each other where both cores are taken.
test: export OPENBLAS_NUM_THREADS := 1
# So do those of JAX: one each (PJRT_NPROC, and NPROC for versions before it).
test: export PJRT_NPROC := 1
test: export NPROC := 1

test: setup check  ## what CI runs: the checks below, then every test (some: make test ARGS=tests/nn)
ifdef ARGS
	$(BIN)/python -m pytest $(ARGS)
else
	@mkdir -p .cache; $(BIN)/python -m pytest $(BESIDE) > $(HALF) 2>&1 & half=$$!; \
	$(BIN)/python -m pytest $(addprefix --ignore=,$(BESIDE)); rest=$$?; \
	wait $$half; beside=$$?; echo "$(BESIDE):"; cat $(HALF); \
	test $$rest -eq 0 && test $$beside -eq 0
endif

# What chance decides, in sizes for a night; tests/sizes.py has them.
SOAK := tests/log tests/edges/test_damaged.py tests/gate/test_datagrams.py \
	tests/gate/test_bound.py tests/run/test_resume.py tests/live/test_carrying.py tests/live/test_power_loss.py \
	tests/live/test_stack.py tests/live/test_storm.py \
	tests/run/test_keeps_distance.py tests/run/test_ablations.py tests/run/test_learns.py \
	tests/run/test_lease.py tests/run/test_waiting.py tests/run/test_programs.py \
	tests/evaluate/test_measure.py
soak: export OPENBLAS_NUM_THREADS := 1
soak: export URSA_SOAK := 1

soak: setup  ## kills, power cuts, damage, fuzz and storm for some hours (some: make soak ARGS=tests/log)
	$(BIN)/python -m pytest $(or $(ARGS),$(SOAK))

check: setup  ## formatting, lint, types, and the import arrows; seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/python -m pytest tests/test_layers.py

format: setup  ## rewrite the files the way `make check` wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## measure; one JSON object per line (one only: make bench NAME=simulator)
	@names="$(or $(NAME),$(patsubst benchmarks/%.py,%,$(filter-out benchmarks/_%,$(wildcard benchmarks/*.py))))"; \
	test -n "$$names" || { echo "no benchmark yet: benchmarks/ is empty"; exit 1; }; \
	for name in $$names; do $(BIN)/python -m benchmarks.$$name || exit 1; done

lock: $(UV)  ## choose the newest allowed versions again and write them with hashes
	.uv/bin/uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 \
	    --extra dev --extra bullet --extra video --generate-hashes \
	    --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	    --output-file $(LOCK)

clean:  ## remove both environments and all caches
	rm -rf .venv .uv .cache .pytest_cache .ruff_cache .hypothesis build dist

# uv lives in its own environment: a sync of .venv would remove it from there.
$(UV):
	$(PYTHON) -m venv --clear .uv
	.uv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

.venv/.stamp: pyproject.toml $(LOCK) | $(UV)
	test -x $(BIN)/python || .uv/bin/uv venv --quiet --python .uv/bin/python .venv
	.uv/bin/uv pip sync --quiet --python $(BIN)/python --require-hashes $(LOCK)
	.uv/bin/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@
