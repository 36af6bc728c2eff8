# symgen. Two commands do all the set-up:   make demo   and   make test
# Everything they make stands in .venv/ and build/.   Another Python:  make demo PYTHON=python3.12

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := PIP_ROOT_USER_ACTION=ignore $(BIN)/python -m pip install -q --disable-pip-version-check

DEMO   := build/demo
JUDGED := dm-control==1.0.50 gymnasium-robotics==1.4.2 robosuite==1.5.2 pybullet==3.2.7

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-slow check shape package golden golden-all bench cuda firmware firmware-tools judge reproduce pairs adversary adversary-slice fuzz docs tables clean

help:
	@echo "Use and develop"
	@echo "  make demo      generate, build, self-test and verify C for the Panda arm"
	@echo "  make test      run the quick tests, most below half a second (five to twelve minutes on two cores)"
	@echo "  make test-slow run the longer ones: whole folders, samples of the book, long chains (fifteen minutes on two cores)"
	@echo "  make check     ruff, mypy --strict on symgen/ and on a user's program, and the lint of docstrings and names"
	@echo "  make docs      build the book in docs/ as HTML into build/docs"
	@echo "  make tables    rewrite the tables of the book that symgen's declarations fill"
	@echo "  make package   build the wheel and the source distribution into dist/, and check them with twine"
	@echo "  make shape     print figures of the code's structure (VERBOSE=1 lists offenders; TREE=another checkout)"
	@echo "  make clean     remove build products (rm -rf .venv starts over)"
	@echo
	@echo "Generated text"
	@echo "  make golden      rewrite generated/, the committed C of the built-in arms"
	@echo "  make golden-all  compare 613 requests with their hashes (ROWS='scara*' selects, KEEP=DIR keeps the files,"
	@echo "                   JOBS=N processes); WRITE=1 rewrites tests/golden/hashes.csv after an intended change of texts"
	@echo
	@echo "Measurements that rewrite pages of the book"
	@echo "  make bench      time symgen's C beside CasADi's, CppADCodeGen's, Pinocchio and MuJoCo: docs/reference/benchmarks.md"
	@echo "                  (half an hour and 5 GB of memory the first time, for Pinocchio's templates; minutes after that)"
	@echo "  make cuda       compile the kernels with nvcc (125 MB the first time): docs/how-to/cuda.md; with a GPU, test and time them"
	@echo "  make firmware   run the tests of the C as firmware, all tools required: docs/reference/microcontroller-costs.md (eleven minutes)"
	@echo "  make firmware-tools  install what that needs with apt: compilers, emulators, analysers, Frama-C"
	@echo "  make reproduce  prove the papers' identities and measure their results: docs/explanation/reproduce/ (ten minutes)"
	@echo "  make adversary  attack every claim of symgen for an hour (MINUTES=N): docs/explanation/trust.md"
	@echo
	@echo "Long checks"
	@echo "  make judge      compare with Pinocchio on example-robot-data, with MuJoCo, Drake and PyBullet on the robots of five wheels"
	@echo "                  (330 MB the first time; 57 minutes on two cores; JOBS=N processes; continues after an interruption)"
	@echo "  make pairs      generate, compile, self-test and verify every function and derivative with every pair of options"
	@echo "                  (over an hour; PAIRS='drives+payload free' selects)"
	@echo "  make adversary-slice  attack for two minutes with a known seed, and rewrite nothing"
	@echo "  make fuzz       give damaged descriptions to the readers for an hour, led by coverage (DURATION=seconds, SEED=N)"

demo: $(VENV)/demo.stamp
	@echo "== Panda's C, into $(DEMO)/panda"
	@$(BIN)/symgen generate panda -o $(DEMO)/panda
	@echo
	@echo "== built by CMake, then its self-test"
	@$(BIN)/cmake -S $(DEMO)/panda -B $(DEMO)/build --log-level=WARNING > $(DEMO)/cmake.log || { cat $(DEMO)/cmake.log; exit 1; }
	@$(BIN)/cmake --build $(DEMO)/build > $(DEMO)/build.log || { cat $(DEMO)/build.log; exit 1; }
	@$(DEMO)/build/panda_selftest
	@echo
	@echo "== verified: the C in that folder against an independent reference"
	@$(BIN)/symgen verify $(DEMO)/panda

# A run starts Python a hundred times: each takes a third less where what it imports is compiled once.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2 --maxprocesses 2 --dist worksteal

test: $(VENV)/test.stamp
	@$(PYTEST) -m "not firmware and not slow" $(TESTS)

test-slow: $(VENV)/test.stamp
	@$(PYTEST) -m "slow and not firmware" $(TESTS)

check: $(VENV)/test.stamp
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/python -m tests.language
	@mkdir -p build/user && cp tests/typed_user.py build/user/
	@cd build/user && ../../$(BIN)/mypy --config-file= --strict --python-version 3.11 typed_user.py

shape: $(VENV)/demo.stamp
	@$(BIN)/python -m tests.shape $(if $(VERBOSE),--verbose) $(TREE)

# The wheel is built from the source distribution, by what .venv has.
package: $(VENV)/test.stamp
	@rm -rf dist && mkdir -p build
	@$(BIN)/python -m build --no-isolation > build/package.log 2>&1 || { tail -n 20 build/package.log; exit 1; }
	@$(BIN)/python -m twine check --strict dist/*
	@! grep -q 'symgen\.example' pyproject.toml || echo "before an upload: pyproject.toml's addresses are placeholders"

golden: $(VENV)/demo.stamp
	@$(BIN)/python -m tests.golden
	@echo "generated/ is rewritten; 'git diff --stat generated' shows what changed"

golden-all: $(VENV)/demo.stamp
	@$(BIN)/python -m tests.golden.table -j $(or $(JOBS),1) $(if $(ROWS),--rows '$(ROWS)') $(if $(KEEP),--keep $(KEEP)) $(if $(WRITE),--write)

bench: $(VENV)/peers.stamp
	@$(BIN)/python -m tests.peers
	@echo "docs/reference/benchmarks.md is rewritten; 'git diff --stat docs' shows what changed"

cuda: $(VENV)/cuda.stamp
	@SYMGEN_CUDA=1 $(BIN)/python -m pytest -q tests/emission/test_cuda.py tests/emission/test_cuda_of_loops.py
	@$(BIN)/python -m tests.cuda_sheet
	@echo "docs/how-to/cuda.md is rewritten; 'git diff --stat docs' shows what changed"
	@$(BIN)/python -m tests.cuda_states || [ $$? = 2 ]
	@$(BIN)/python -m tests.cuda_peers || [ $$? = 2 ]

# Debian's names; those who are root need no sudo.
FIRMWARE_TOOLS := gcc-arm-none-eabi libnewlib-arm-none-eabi picolibc-arm-none-eabi qemu-system-arm \
                  gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc \
                  g++ clang libclang-rt-dev cppcheck frama-c-base

firmware-tools:
	@as_root=$$([ "$$(id -u)" = 0 ] || echo sudo); \
	$$as_root apt-get update -q && $$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(FIRMWARE_TOOLS)

firmware: $(VENV)/test.stamp
	@SYMGEN_FIRMWARE_TOOLS=required $(BIN)/python -m pytest -q -n 2 --maxprocesses 2 -m firmware
	@$(BIN)/python -m tests.firmware_sheets
	@echo "docs/reference/microcontroller-costs.md is rewritten; 'git diff --stat docs' shows what changed"

judge: $(VENV)/test.stamp $(VENV)/judges.stamp build/judges/stamp
	@$(BIN)/python -m tests.judges.mujoco_files build/judges/unpacked --write
	@$(BIN)/python -m tests.judges.mujoco_pairs build/judges/unpacked --write
	@$(BIN)/python -m tests.judges.example_robot_data --table whole --write --jobs $(or $(JOBS),1)
	@$(BIN)/python -m tests.judges.example_robot_data --table free --write --jobs $(or $(JOBS),1)
	@$(BIN)/python -m tests.judges.derivatives --write
	@$(BIN)/python -m tests.judges.sdf_files --write
	@$(BIN)/python -m tests.judges.urdf_files --write
	@$(BIN)/python -m tests.judges.example_robot_data --table dynamics --write --jobs $(or $(JOBS),1)

# Robots of others: they are fetched and judged, and nothing of them is kept.
build/judges/stamp: $(VENV)/test.stamp
	@mkdir -p build/judges/wheels
	@for wheel in $(JUDGED); do $(BIN)/python -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: -d build/judges/wheels $$wheel || exit 1; done
	@for wheel in build/judges/wheels/*.whl; do $(BIN)/python -m zipfile -e $$wheel build/judges/unpacked || exit 1; done
	@touch $@

reproduce: $(VENV)/test.stamp
	@$(BIN)/python -m pytest -q -n 2 --maxprocesses 2 tests/proofs
	@for name in $$($(BIN)/symgen reproduce | cut -d' ' -f1); do $(BIN)/symgen reproduce $$name -o docs/explanation/reproduce || exit 1; done

pairs: $(VENV)/test.stamp
	@$(BIN)/python -m tests.pairs $(PAIRS)

adversary: $(VENV)/test.stamp
	@$(BIN)/python -m tests.adversary --minutes $(or $(MINUTES),60) --write

# The seed is one whose first minutes are known, so that this tells of a change and not of luck.
adversary-slice: $(VENV)/test.stamp
	@$(BIN)/python -m tests.adversary --minutes 2 --seed 120279

fuzz: $(VENV)/test.stamp
	@$(BIN)/python -m tests.fuzz --seconds $(or $(DURATION),3600) --seed $(or $(SEED),1)

docs: $(VENV)/docs.stamp
	@$(BIN)/python -m sphinx -q -W --keep-going -d build/docs.trees -b html docs build/docs
	@echo "the book is in build/docs/index.html"

tables: $(VENV)/demo.stamp
	@$(BIN)/python -m tests.book_tables

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find symgen tests -name __pycache__ -type d -prune -exec rm -rf {} +

# -- set-up: once, and again when pyproject.toml changes --

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing symgen into $(VENV) …"
	@$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing symgen, its tests and the peers it is judged by into $(VENV) …"
	@$(PIP) -e '.[demo,test,check]'
	@touch $@ $(VENV)/demo.stamp $(VENV)/docs.stamp

$(VENV)/peers.stamp: $(VENV)/test.stamp
	@echo "installing the peers that symgen is measured beside into $(VENV) …"
	@$(PIP) -e '.[peers]'
	@touch $@

$(VENV)/judges.stamp: $(VENV)/test.stamp
	@echo "installing the judges of SDF files, and the files of other wheels, into $(VENV) …"
	@$(PIP) -e '.[judges]'
	@$(PIP) --no-deps robosuite   # its files alone
	@touch $@

$(VENV)/cuda.stamp: $(VENV)/test.stamp
	@echo "installing NVIDIA's compiler into $(VENV) …"
	@$(PIP) -e '.[cuda]'
	@touch $@

$(VENV)/docs.stamp: pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing symgen and what builds its book into $(VENV) …"
	@$(PIP) -e '.[docs]'
	@touch $@

# One sentence names all that is missing. The header of a Python that Debian did not build lies beside it.
$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null || { \
	  echo "symgen needs CPython 3.11 or newer, which '$(PYTHON)' is not: name one, as in 'make PYTHON=python3.12', or run 'apt install python3 python3-venv python3-dev gcc make'" >&2; exit 1; }
	@missing=; \
	$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || missing="$$missing python3-venv"; \
	$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.isfile(os.path.join(sysconfig.get_path("include"), "Python.h")))' \
	  || missing="$$missing python3-dev"; \
	{ command -v "$${CC%% *}" || command -v cc || command -v gcc || command -v clang; } > /dev/null 2>&1 || missing="$$missing gcc"; \
	[ -z "$$missing" ] || { echo "symgen cannot be set up, since this machine lacks$$missing: run 'apt install$$missing' (or name another CPython with PYTHON=…, another C compiler with CC=…)" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
