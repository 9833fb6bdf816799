"""`brim flow`: run a flow, and tell what a run told."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brim.cli import options
from brim.cli.output import console, emit, fields, show, table
from brim.errors import InvalidValue, SourceError, shown

if TYPE_CHECKING:
    from brim.flows.run import FlowOutcome, Ran
    from brim.llm import LanguageModel
    from brim.settings.config import Config
    from brim.testing import Answer

app = typer.Typer(
    name="flow", help="Run flows, and tell what came of them.", no_args_is_help=True, rich_markup_mode=None
)

_SECONDS = 600
"""Time for one call of a model that does the work of a step."""
_BASE = "runs"

Url = Annotated[str | None, typer.Option("--model-url", metavar="URL", help="Where the model is, up to /v1.")]
Name = Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="The model that does the steps.")]
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="VARIABLE", help="The NAME of the environment variable that holds the key."),
]
Api = Annotated[str, typer.Option("--api", metavar="NAME", help="What the model speaks: openai or anthropic.")]
Script = Annotated[
    str | None,
    typer.Option("--script", metavar="REPLIES.yaml", help="Answers instead of a model: a list, or by the step's id."),
]
Base = Annotated[str, typer.Option("--run-base", metavar="DIR", help="Where receipts go.")]
Root = Annotated[str | None, typer.Option("--root", metavar="DIR", help="A codebase whose files may be given.")]


@app.command("run")
def run(
    *,
    flow: Annotated[str, typer.Argument(metavar="FLOW.yaml", help="A flow, or a project with one.")],
    name: Annotated[str | None, typer.Option("--flow", metavar="NAME", help="Which flow of a project.")] = None,
    model_url: Url = None,
    model: Name = None,
    key: Key = None,
    api: Api = "openai",
    script: Script = None,
    run_base: Base = _BASE,
    profile: Annotated[str | None, typer.Option("--profile", metavar="NAME", help="The profile to take.")] = None,
    root: Root = None,
    json: options.Json = False,
) -> None:
    """Run a flow end to end.

    Each step gets a fresh pack as its whole context: teaching notes, what earlier steps said within the budget, the
    paths of what they wrote. One receipt for each step goes to RUN_BASE/FLOW/receipts. The exit code is 1 if a step
    fails, which also an answer does that was cut off at the model's limit.

    Example: brim flow run flows/build.yaml --model-url http://127.0.0.1:8101/v1 --model llama --run-base runs
    """
    from brim.flows.run import run_flow
    from brim.flows.source import flow_of

    _silence()
    config, found = flow_of(flow, name)
    worker = _model(config, found, (model_url, model, key, api), script)
    total = len(config.flow(found).steps)
    out = console(error=True)
    done: list[Ran] = []
    warned: set[str] = set()

    def watch(ran: Ran) -> None:
        done.append(ran)
        for warning in ran.receipt.get("warnings", ()):
            if warning not in warned:
                warned.add(warning)
                out.print(f"warning: {warning}", soft_wrap=True)
        out.print(_progress(ran, len(done), total), soft_wrap=True)

    outcome = run_flow(config, found, worker, profile=profile, run_base=run_base, root=root, watch=watch)
    if json:
        emit(_as_json(outcome))
    else:
        _print(outcome, run_base)
    if not outcome.ok:
        raise typer.Exit(1)


@app.command("report")
def tell(
    *,
    run_base: Annotated[str, typer.Argument(metavar="RUN_BASE", help="Where the receipts of a run are.")],
    name: Annotated[str | None, typer.Option("--flow", metavar="NAME", help="Which flow, if not all.")] = None,
    json: options.Json = False,
) -> None:
    """Tell what a run told: how near its prompts came to the budget, what they lost, what was refused.

    Example: brim flow report runs
    """
    from brim.flows.receipts import read_receipt
    from brim.flows.report import report

    found = report(read_receipt(path) for path in _receipts(run_base, name))
    if json:
        emit(found.to_dict())
    else:
        console().print(str(found), soft_wrap=True)


def _silence() -> None:
    """Keep warnings about settings out of the log: they are told as the steps run."""
    import logging

    logging.getLogger("brim.settings").addHandler(logging.NullHandler())


def _receipts(base: str, name: str | None) -> list[str]:
    """Return the paths of the receipts of a run.

    Raises:
        SourceError: there are none.
    """
    from glob import escape, glob

    from brim.flows.receipts import safe

    inside = "*" if name is None else escape(safe(name))
    paths = sorted(glob(os.path.join(escape(base), inside, "receipts", "*.json")))
    if not paths:
        raise SourceError(base, "it has no receipts: they are in RUN_BASE/FLOW/receipts")
    return paths


def _model(
    config: Config, flow: str, given: tuple[str | None, str | None, str | None, str], script: str | None
) -> LanguageModel:
    """Return who does the steps.

    Raises:
        InvalidValue: neither a model nor a script is given, or both, or half a model.
    """
    url, name, key, api = given
    if script is not None and (url or name):
        raise InvalidValue("--script", script, "given without --model-url and --model")
    if script is not None:
        from brim.testing import Scripted

        return Scripted(_answers(script, [step.id for step in config.flow(flow).steps]))
    if not url or not name:
        raise InvalidValue("--model-url and --model", url or name or "", "both given, or --script in their place")
    from brim.llm import LLM

    return LLM(url, name, key=key, api=api, timeout=_SECONDS)


def _answers(path: str, ids: list[str]) -> list[Answer]:
    """Return the answers of a script in the order of the steps.

    Raises:
        SourceError: it is none.
    """
    from brim.files.source import load

    source = load(path)
    rows = source.values
    if isinstance(rows, dict):
        unknown = [key for key in rows if key not in ids]
        if unknown:
            raise source.error(f"no step is called {shown(unknown[0])}; the steps are {', '.join(ids)}", unknown[0])
        missing = [step for step in ids if step not in rows]
        if missing:
            raise source.error(f"there is no answer for the step {shown(missing[0])}")
        return [_answer(source, rows[step], step) for step in ids]
    if not isinstance(rows, list):
        raise source.error("a script must be a list of answers, or a mapping from the ids of steps to answers")
    return [_answer(source, row, i) for i, row in enumerate(rows)]


def _answer(source: Any, row: Any, key: str | int) -> Answer:
    from brim.errors import ModelError
    from brim.llm import Reply

    if isinstance(row, str):
        return row
    expected = "an answer must be a text, or a mapping with text and stop, or with error and status"
    if not isinstance(row, dict):
        raise source.error(f"{expected}, not {shown(row)}", key)
    if isinstance(row.get("error"), str) and row.keys() <= {"error", "status"}:
        status = row.get("status")
        return ModelError(row["error"], status=status if isinstance(status, int) else None)
    if isinstance(row.get("text"), str) and isinstance(row.get("stop", ""), str) and row.keys() <= {"text", "stop"}:
        return Reply(text=row["text"], stop=row.get("stop", "end"))
    raise source.error(f"{expected}, not {shown(row)}", key)


def _progress(ran: Ran, at: int, total: int) -> str:
    used = f", pack {ran.receipt['used_chars']:,} chars" if "used_chars" in ran.receipt else ""
    told = f"{len(ran.output):,} chars out" if ran.status == "ok" else ran.reason
    return f"{at}/{total} {ran.step_id} {ran.agent or 'agent'}: {ran.status}{used}, {told}"


def _print(outcome: FlowOutcome, base: str) -> None:
    out = console()
    made = table("step", "agent", "status", "pack", "steps", "output", numbers=("pack", "output"), wide=("agent",))
    for ran in outcome.steps:
        told = ran.receipt.get("context_truncation") or {}
        seen = f"{told['steps_included']} of {told['steps_total']}" if told else ""
        used = ran.receipt.get("used_chars")
        pack = "" if used is None else f"{used:,}"
        made.add_row(ran.step_id, ran.agent, ran.status, pack, seen, f"{len(ran.output):,}")
    show(out, made)
    out.print()
    state = "done" if outcome.ok else "failed"
    receipts = os.path.dirname(outcome.steps[-1].path) if outcome.steps else base
    values = {"flow": f"{outcome.flow}: {state}, {len(outcome.steps)} of {outcome.planned} steps", "receipts": receipts}
    show(out, fields(values | ({"reason": outcome.reason} if outcome.reason else {})))


def _as_json(outcome: FlowOutcome) -> dict[str, Any]:
    from brim.flows.report import report

    return {
        "flow": outcome.flow,
        "ok": outcome.ok,
        "reason": outcome.reason,
        "planned": outcome.planned,
        "steps": [
            {
                "step_id": ran.step_id,
                "agent": ran.agent,
                "status": ran.status,
                "receipt": ran.path,
                "output": ran.output,
            }
            for ran in outcome.steps
        ],
        "report": report(ran.receipt for ran in outcome.steps).to_dict(),
    }
