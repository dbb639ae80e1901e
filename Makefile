# Everything that `make run` needs is make itself and Python 3.11 or newer with venv. Each step is
# done once: a stamp file in .venv remembers it, and a change of what it depends on repeats it.

VENV   := .venv
BIN    := $(VENV)/bin
GUESTS := nexemu/guests

# A recipe's shell expands these, so that a second `make run` does not pay for them.
PYTHON  ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
                $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
ZIGLANG  = $(shell sed -n 's/^toolchain = \["\(.*\)"\]/\1/p' pyproject.toml)

# Without CROSS the guests are compiled by zig, which pip installs.
COMPILER := $(or $(CROSS),zig)
PIP      := $(BIN)/python -m pip install --disable-pip-version-check --no-input
CACHE    := $(or $(NEXEMU_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/nexemu)

GUEST_SOURCES := $(wildcard guest/*.c guest/*.h guest/*.S guest/*.ld guest/*.py smolprobe/*.c smolprobe/*.h) \
                 nexemu/abi.py

MADE      := $(VENV)/.made
TOOLS     := $(VENV)/.tools-$(COMPILER)
INSTALLED := $(VENV)/.installed
DEV       := $(VENV)/.dev
COMPILED  := $(VENV)/.guests-$(COMPILER)
MODELLED  := $(VENV)/.model-$(or $(MODEL),auto)

RUN_FLAGS = $(if $(MEM),--mem $(MEM)) $(if $(value CMD),--shell-command "$$NEXEMU_CMD")
ifdef CMD
# As it was typed: a command may hold quotes and dollar signs.
export NEXEMU_CMD := $(value CMD)
endif
ifdef LAZY_ALLOC
export LAZY_ALLOC
endif
ifdef COW_ALLOC
export COW_ALLOC
endif
ifdef MODEL
export MODEL
endif
ifdef CROSS
export CROSS
endif

.DELETE_ON_ERROR:
.PHONY: help run qemu-llm guests grade test test-slow test-all lint bench clean distclean always

help:
	@echo 'make run          start the machine and its shell; installs what is missing, once'
	@echo '                    LAZY_ALLOC=0|1 COW_ALLOC=0|1   the two switches (both 1)'
	@echo "                    CMD='smolprobe --gen-len 10'   run this and leave with its status"
	@echo '                    MODEL=auto|smollm2|synthetic   real weights, or noise of the same size'
	@echo '                    MEM=256M                       size of RAM'
	@echo '                    CROSS=riscv64-unknown-elf-     compile the guests with this gcc'
	@echo '                    PYTHON=/path/to/python3        3.11 or newer'
	@echo 'make qemu-llm     the same, by the name that the lab gives it'
	@echo 'make guests       compile the guest programs'
	@echo 'make test         the fast tests; make test-slow: the others; make test-all: all in one run'
	@echo 'make grade        grade the kernel itself; HANDLER=mylab/handler.py: a handler of yours'
	@echo 'make lint         ruff and mypy'
	@echo 'make bench        measure, and write bench.json'
	@echo 'make clean        delete what was built; make distclean: .venv too'

# ---- running --------------------------------------------------------------------------------------

run: $(INSTALLED) $(COMPILED) $(MODELLED)
	@exec $(BIN)/nexemu run $(RUN_FLAGS)

qemu-llm: run

guests: $(COMPILED)

grade: $(INSTALLED) $(COMPILED)
	@exec $(BIN)/nexemu grade $(if $(HANDLER),'$(HANDLER)')

bench: $(INSTALLED) $(COMPILED) $(MODELLED)
	@exec $(BIN)/nexemu bench

# ---- the steps ------------------------------------------------------------------------------------

$(MADE):
	@echo '==> Making $(VENV)'
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then \
	    echo "nexemu needs Python 3.11 or newer ($$(python3 --version 2>&1) is what there is):" \
	         'install one, or say make run PYTHON=/path/to/python3' >&2; exit 1; fi; \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "$$python is no Python of version 3.11 or newer" >&2; exit 1; }; \
	"$$python" -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "$$python cannot make a venv: install its venv package (Debian: apt install python3-venv)" >&2; \
	    exit 1; }; \
	"$$python" -m venv --clear $(VENV)
	@touch $@

# The package is built without isolation, so that the compiler (400 MB) is unpacked only once.
$(TOOLS): $(MADE)
	@echo '==> Installing the build tools$(if $(CROSS),, and the guest compiler)'
	@$(PIP) hatchling editables $(if $(CROSS),,$(ZIGLANG))
	@touch $@

$(COMPILED): $(TOOLS) $(GUEST_SOURCES) $(if $(wildcard $(GUESTS)/*/init),,always)
	@echo '==> Compiling the guest programs with $(COMPILER)'
	@$(BIN)/python guest/build.py
	@rm -f $(VENV)/.guests-*
	@touch $@

$(INSTALLED): $(TOOLS) pyproject.toml hatch_build.py | $(COMPILED)
	@echo '==> Installing nexemu'
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(DEV): $(INSTALLED)
	@echo '==> Installing the tools for tests and lint'
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

$(MODELLED): $(if $(wildcard $(CACHE)/images/*/INFO.TXT),,always) | $(INSTALLED)
	@echo '==> Looking for the model'
	@$(BIN)/nexemu model ensure
	@touch $@

always:

# ---- checking -------------------------------------------------------------------------------------

# pytest ends with 5 when it finds no test at all, which is no failure.

test: $(DEV) $(COMPILED)
	$(BIN)/python -m pytest -m 'not slow and not model' $(ARGS) || [ $$? -eq 5 ]

test-all: $(DEV) $(COMPILED) $(MODELLED)
	$(BIN)/python -m pytest $(ARGS) || [ $$? -eq 5 ]

test-slow: $(DEV) $(COMPILED) $(MODELLED)
	$(BIN)/python -m pytest -m 'slow or model' $(ARGS) || [ $$? -eq 5 ]

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# ---- tidying --------------------------------------------------------------------------------------

clean:
	rm -rf build dist $(GUESTS) guest/generated bench.json .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find nexemu guest tests -name __pycache__ -prune -exec rm -rf {} +
	rm -f $(VENV)/.guests-*

distclean: clean
	rm -rf $(VENV) nexemu.egg-info
	@echo 'The model stays in $(CACHE).'
