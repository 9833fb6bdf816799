"""The authors' own tests and files, copied out of their documents word for word, with at most ten lines of glue each."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import brim

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = Path(os.environ.get("AUTHOR_SOURCES", ROOT.parent / "shared" / "sources"))
SOURCES = SOURCES if SOURCES.is_dir() else Path("/work/shared/sources")
pytestmark = pytest.mark.skipif(not SOURCES.is_dir(), reason="the documents are not part of the repository")

TOKEN_UTILS = """\
import brim
PCT = {"prompt": 0.40, "memory": 0.25, "social": 0.15, "institutional": 0.10, "reserve": 0.10}
count_tokens = lambda text, model=None: brim.meter(model or "chars/4").count(text)
def truncate_to_budget(text, max_tokens, model=None):
    return brim.cut(text, max_tokens, model or "chars/4", keep="lines", marker="\\n... (truncated)").text
class TokenBudget:
    def __init__(self, total=16384, **pct):
        self.__dict__ |= {"total": total, **{f"{name}_pct": share for name, share in PCT.items()}, **pct}
    section_budget = lambda self, name: brim.Window(self.total, cap=self.__dict__.get(f"{name}_pct", 0.10)).budget
    __getattr__ = lambda self, name: self.section_budget(name.removesuffix("_budget"))
"""
BUILDER = """\
import brim
class BaseAgentContextBuilder:
    def __init__(self, agents, prompt_templates, max_prompt_tokens):
        self.templates, self.limit = prompt_templates, max_prompt_tokens
        self.settings = brim.load_config(environ={}).resolve(profile="broker-base")
    def format_prompt(self, context):
        asked = {"template": self.templates[context["agent_type"]], "agent": context["agent_id"]}
        return self.settings.fit(context, budget=self.limit, **asked).text
"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("documents")
    spec = importlib.util.spec_from_file_location("author_documents", Path(__file__).with_name("author_documents.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert len(module.copy(SOURCES, folder)) == 6
    return folder


def test_the_thirteen_tests_of_the_broker_document_pass(documents):
    """ "One of the author's own 13 tests fails by the page's mapping"."""
    assert max(len(each.splitlines()) for each in (TOKEN_UTILS, BUILDER)) <= 10
    for name, text in (("utils/token_utils", TOKEN_UTILS), ("components/tiered_builder", BUILDER)):
        path = documents / "broker" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "tests/test_token_budget.py",
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(documents), *sys.path])}
    done = subprocess.run(command, cwd=documents, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert "13 passed" in done.stdout, done.stdout[-3_000:]


def test_the_files_of_the_flow_document_are_read_as_they_are(documents):
    config = brim.load_config(documents, environ={})
    names = ("context_budget_chars", "history_max_recent_chars", "history_max_older_chars")

    def budgets(**asked):
        return tuple(config.resolve(**asked).value(name) for name in names)

    assert budgets() == (200_000, 60_000, 10_000)
    assert budgets(profile="heavy-context") == (300_000, 100_000, 15_000)
    assert budgets(flow="build", step="0") == (250_000, 80_000, 10_000)


def test_the_block_that_restores_v2_3_works_in_the_runtime_file(documents, tmp_path):
    (tmp_path / "swarm" / "config").mkdir(parents=True)
    (tmp_path / "swarm" / "config" / "runtime.yaml").write_text((documents / "restore.yaml").read_text())
    made = brim.load_config(tmp_path, environ={}).resolve()
    assert (made.value("context_budget_chars"), made.value("history_max_older_chars")) == (400_000, 20_000)


def test_the_block_of_the_session_document_gives_its_cap(documents):
    made = brim.load_config(documents / "phantom.yaml", environ={}).resolve()
    assert (made.window().budget, made.window().warning) == (200_000, 150_000)
