"""`brim flow`: run a flow, and report on a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from typer import Argument, Option

from brim.cli import options
from brim.cli.output import console, emit, fields, mute_settings, show, table
from brim.errors import BrimError, SourceError

if TYPE_CHECKING:
    from brim.flows.run import FlowOutcome, StepOutcome
    from brim.llm import LanguageModel

app = typer.Typer(name="flow", help="Run flows, and report on their runs.", no_args_is_help=True, rich_markup_mode=None)

_SECONDS = 600
"""The time limit of one call of a model."""
_BASE = "runs"
_MOST_LOG = 256 * 1024 * 1024
"""Bytes of a log of events."""


@app.command("run")
def run(
    *,
    flow: Annotated[str, Argument(metavar="FLOW.yaml", help="A flow, or the settings of a project with flows.")],
    name: Annotated[str | None, Option("--flow", metavar="NAME", help="The name of the flow in a project.")] = None,
    model_url: Annotated[
        str | None, Option("--model-url", metavar="URL", help="The base URL of the model, up to /v1.")
    ] = None,
    model: Annotated[str | None, Option("--model", "-m", metavar="NAME", help="The model that runs the steps.")] = None,
    key: Annotated[
        str | None, Option("--key", metavar="VARIABLE", help="The NAME of the environment variable with the key.")
    ] = None,
    api: Annotated[str, Option("--api", metavar="NAME", help="The API of the model: openai or anthropic.")] = "openai",
    script: Annotated[
        str | None,
        Option(
            "--script",
            metavar="REPLIES.yaml",
            help="Answers for a test run without a model: a list of texts, one for each step that runs.",
        ),
    ] = None,
    run_base: Annotated[str, Option("--run-base", metavar="DIR", help="The directory for receipts.")] = _BASE,
    profile: options.Profile = None,
    root: Annotated[
        str | None, Option("--root", metavar="DIR", help="A codebase whose files may be included in packs.")
    ] = None,
    artifact: Annotated[
        list[str] | None,
        Option("--artifact", metavar="PATH", help="A file of an earlier flow, to be listed by path; repeatable."),
    ] = None,
    resume: Annotated[bool, Option("--resume", help="Continue the last run after its last finished step.")] = False,
    json: options.Json = False,
) -> None:
    """Run a flow from its first step to its last.

    Each step gets a new context pack: teaching notes, outputs of earlier steps within the budget, and the paths of the
    files that they wrote. The receipt of each step is written to RUN_BASE/FLOW/receipts. The exit code is 1 if a step
    fails or its answer is cut off at the model's limit.

    Example: brim flow run flows/build.yaml --model-url http://127.0.0.1:8101/v1 --model llama --run-base runs
    """
    from brim.flows import flow_of
    from brim.flows.run import run_flow

    mute_settings()
    config, found = flow_of(flow, name)
    outcome = run_flow(
        config,
        found,
        _worker(model_url, model, key, api) if script is None else _scripted(script, model_url or model),
        profile=profile,
        run_base=run_base,
        root=root,
        artifacts=artifact or (),
        watch=_watcher(len(config.flow(found).steps)),
        resume=resume,
    )
    if json:
        emit(_as_json(outcome))
    else:
        _print(outcome, run_base)
    if not outcome.ok:
        raise typer.Exit(1)


def _watcher(planned: int) -> Callable[[StepOutcome], None]:
    """Return a function that prints each step when it has run."""
    out = console(error=True)
    done: list[StepOutcome] = []
    warned: set[str] = set()

    def watch(ran: StepOutcome) -> None:
        done.append(ran)
        for warning in ran.receipt.get("warnings", ()):
            if warning not in warned:
                warned.add(warning)
                out.print(f"warning: {warning}")
        used = f", pack {ran.receipt['used_chars']:,} chars" if "used_chars" in ran.receipt else ""
        result = f"{len(ran.output):,} chars out" if ran.status == "ok" else ran.reason
        line = f"{len(done)}/{planned} {ran.step_id} {ran.agent or 'agent'}: {ran.status}{used}, {result}"
        out.print(line)

    return watch


@app.command("report")
def report(
    *,
    run_base: Annotated[
        str, Argument(metavar="RUN_BASE", help="The directory of a run, or a log of its events as JSON Lines.")
    ],
    name: Annotated[str | None, Option("--flow", metavar="NAME", help="Only this flow.")] = None,
    json: options.Json = False,
) -> None:
    """Report on a run: budgets, drops and failures.

    The report shows how close the prompts came to their budgets, what was dropped, and what was refused. It
    also shows how many steps of each flow are done.

    Example: brim flow report runs
    """
    from glob import escape

    from brim.flows.receipts import read_receipts, safe
    from brim.flows.receipts import report as summarise

    place = ("*" if name is None else escape(safe(name)), "receipts")
    if os.path.isfile(run_base):
        found = summarise(_events(run_base))
    else:
        found = summarise(receipt for _, receipt in read_receipts(run_base, place))
    if json:
        emit(found.to_dict())
    else:
        console().print(str(found))


def _events(path: str) -> list[dict[str, Any]]:
    """Return the events of a log with a JSON value a line.

    Raises:
        SourceError: the file cannot be read, or a line is no JSON object.
    """
    from json import loads

    from brim.files.source import text_of

    found = []
    for number, line in enumerate(text_of(path, _MOST_LOG).splitlines(), 1):
        try:
            value = loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            raise SourceError(path, f"not a JSON value: {error}", line=number) from error
        if not isinstance(value, dict):
            raise SourceError(path, "a line must be a JSON object", line=number)
        found.append(value)
    return found


def _worker(url: str | None, name: str | None, key: str | None, api: str) -> LanguageModel:
    from brim.llm import LLM

    if not url or not name:
        raise BrimError("set --model-url and --model, or --script")
    return LLM(url, name, key=key, api=cast("Literal['openai', 'anthropic']", api), timeout=_SECONDS)


def _scripted(path: str, model: str | None) -> LanguageModel:
    from brim.files.source import load
    from brim.settings.values import TEXTS
    from brim.testing import Scripted

    if model:
        raise BrimError("--script cannot be combined with --model-url or --model")
    source = load(path)
    if not TEXTS.takes(source.values):
        raise source.error(f"a script must be {TEXTS.expected}, one for each step")
    return Scripted(source.values)


def _print(outcome: FlowOutcome, base: str) -> None:
    out = console()
    made = table("step", "agent", "status", "pack", "steps", "output", numbers=("pack", "output"), wide=("agent",))
    for ran in outcome.steps:
        cut = ran.receipt.get("context_truncation")
        steps = f"{cut['steps_included']} of {cut['steps_total']}" if cut else ""
        used = ran.receipt.get("used_chars")
        pack = "" if used is None else f"{used:,}"
        made.add_row(ran.step_id, ran.agent, ran.status, pack, steps, f"{len(ran.output):,}")
    show(out, made)
    out.print()
    state = "done" if outcome.ok else "failed"
    receipts = os.path.dirname(outcome.steps[-1].path) if outcome.steps else base
    values = {"flow": f"{outcome.flow}: {state}, {len(outcome.steps)} of {outcome.planned} steps", "receipts": receipts}
    show(out, fields(values | ({"reason": outcome.reason} if outcome.reason else {})))


def _as_json(outcome: FlowOutcome) -> dict[str, Any]:
    from brim.flows.receipts import report as summarise

    names = ("step_id", "agent", "status", "output")
    return {
        **{name: getattr(outcome, name) for name in ("flow", "ok", "reason", "planned")},
        "steps": [{**{name: getattr(ran, name) for name in names}, "receipt": ran.path} for ran in outcome.steps],
        "report": summarise(ran.receipt for ran in outcome.steps).to_dict(),
    }
