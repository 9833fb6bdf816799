# Every target sets up what it needs: a plain virtual environment in .venv, from pyproject.toml alone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet
PROVE  ?= --share 1
BENCH  ?= --footprint

.PHONY: demo test check prove faults bench dist requirements clean

demo: $(VENV)/.core
	@$(BIN)/brim demo

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n 2

check: $(VENV)/.check
	$(BIN)/ruff format src tests bench scripts examples
	$(BIN)/ruff check src tests bench scripts examples
	$(BIN)/mypy
	$(BIN)/python scripts/floors.py

prove: $(VENV)/.test
	$(BIN)/python scripts/prove.py $(PROVE)

faults: $(VENV)/.test
	$(BIN)/python scripts/faults.py

bench: .venv-bench/.bench
	.venv-bench/bin/python -m bench $(BENCH)

dist: $(VENV)/.dist
	$(BIN)/python scripts/dist.py

requirements: $(VENV)/.test
	$(BIN)/python scripts/requirements.py

clean:
	rm -rf $(VENV) .venv-* dist bench/results

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.core

$(VENV)/.check: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test,check]'
	@touch $@ $(VENV)/.core $(VENV)/.test

$(VENV)/.dist: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dist]'
	@touch $@

# prompt-poet pins an old tiktoken, litellm and LangChain a certifi of the day, others an old pydantic or protobuf: all
# of them work without.
.venv-bench/.bench: pyproject.toml bench/peers.txt bench/peers-alone.txt
	$(PYTHON) -m venv .venv-bench
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-bench/bin/pip install --quiet -e '.[test]' -r bench/peers.txt
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-bench/bin/pip install --quiet --no-deps -r bench/peers-alone.txt
	@touch $@
