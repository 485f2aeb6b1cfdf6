# make lab        the course in JupyterLab           make test     the whole suite
# make course     every lesson, executed to HTML     make bench    the figures, printed and written to build/bench/
# make doctor     what this machine can do           make clean    remove what these made
#
# VENV=DIR uses an environment of yours and never replaces its torch.

PYTHON   ?= python3
VENV     ?= .venv
LAB_ARGS ?=
TEST_ARGS ?=
BIN      := $(VENV)/bin
READY    := $(VENV)/.fp8lab-ready

ifneq ($(words $(VENV)),1)
$(error VENV is "$(VENV)", needs one path without a space, at which make would split it; a symbolic link can be one)
endif

.PHONY: lab test course build bench bench-hub bench-isa bench-emulator doctor lock pictures clean

# Without autodetect: looking for language servers, which the course does not use, asks npm and takes a second or two.
lab: build
	$(BIN)/jupyter-lab --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb \
	    --LanguageServerManager.autodetect=False $(LAB_ARGS)

# In one process more than there are cores (tests/conftest.py says why), a file of tests in one of them.
test: build
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(TEST_ARGS)

course: build
	$(BIN)/fp8lab course run

build: $(READY)
	@$(BIN)/fp8lab build

EMULATOR = $(BIN)/python -m benchmarks.emulator $(if $(PROTOTYPE),--prototype $(PROTOTYPE))

# Each prints a table, writes it as JSON to build/bench/, and fails where a target is missed.
bench: build
	$(BIN)/python -m benchmarks.cpu; cpu=$$?; $(EMULATOR) && exit $$cpu

bench-hub: build
	$(BIN)/python -m benchmarks.hub

# With FP8LAB_TRITON=DIR beside Triton, with PROTOTYPE=DIR beside the emulator's proof of concept.
bench-isa: $(READY)
	$(BIN)/python -m benchmarks.isa

bench-emulator: $(READY)
	$(EMULATOR)

doctor: $(READY)
	@$(BIN)/fp8lab doctor

$(READY): requirements.lock pyproject.toml fp8lab/environment.py
	@$(PYTHON) fp8lab/environment.py $(VENV)

# For maintainers: the lock from what is installed now; the README's pictures from a real browser.
# Without rfc3987-syntax, and lark for it: jsonschema imports it where it is there, so JupyterLab and nbformat do, and
# at each import it builds 39 parsers, 3 s. What it checks, `"format": "iri"` in a JSON schema, nothing here asks for.
lock: $(READY)
	$(BIN)/pip freeze --all --exclude-editable | \
	    sed -E '/^(pip|rfc3987-syntax|lark)==/d; s/^(torch==[0-9.]*).*/\1/' > requirements.lock

pictures: build
	FP8LAB_PICTURES=docs/pictures $(BIN)/python -m pytest -m browser

clean:
	@$(BIN)/fp8lab clean
