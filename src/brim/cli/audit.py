"""`brim audit`: recorded traffic replayed under policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from typer import Option

from brim.amounts import counted
from brim.cli import options
from brim.cli.output import MOST_ROWS, console, emit, exit_on_sigterm, fields, is_plain, show, table, whole

if TYPE_CHECKING:
    from brim.audit.audit import Progress

_Traces = Annotated[
    list[str],
    typer.Argument(metavar="TRACES", help="Files, patterns or directories, also .gz; - is standard input."),
]
_Policy = Annotated[
    list[str] | None,
    Option(
        "--policy",
        "-p",
        metavar="NAME:KEY=VALUE,...",
        help="A policy, such as lean:budget=32000,stable=true; repeatable. Keys: budget, window, cap, reserve, stable,"
        " select, within, recent, older, pin_first_user, note.",
    ),
]
_Model = Annotated[
    str | None, Option("--model", "-m", metavar="NAME", help="Treat every request as if it were for this model.")
]
_Window = Annotated[str | None, Option("--window", "-w", metavar="N", help="The window of every model, in tokens.")]
_Limit = Annotated[str | None, Option("--limit", metavar="N", help="Replay a sample of N conversations.")]


def run(
    *,
    traces: _Traces,
    policy: _Policy = None,
    model: _Model = None,
    window: _Window = None,
    limit: _Limit = None,
    json: options.Json = False,
) -> None:
    """Replay recorded traffic, and report what brim would have changed.

    Reads OpenAI and Anthropic requests as JSONL, OpenTelemetry GenAI spans, exports of LangSmith and Langfuse, and
    the session logs of Claude Code and Codex; the format is detected. Without a policy, the report shows what
    brim.wrap and the gateway would do: each conversation is cut to the window of its model, and the cut is kept for the
    provider's cache. The policy named window cuts each request separately. The exit code is 1 if a request does not fit
    under a policy.

    Example: brim audit ~/.claude/projects --policy lean:budget=60000,stable=true
    """
    from brim.audit import audit, policies_of
    from brim.meter import meter

    policies = policies_of(policy or ())
    if model is not None:
        meter(model)
    exit_on_sigterm()
    with _progress() as progress:
        report = audit(
            traces,
            policies,
            model=model,
            window=whole("--window", window, 1),
            limit=whole("--limit", limit, 1),
            progress=progress,
        )
    if json:
        emit(report.values)
    else:
        _show(report.values)
    if any(each["does_not_fit"] for each in report.values["policies"]):
        raise typer.Exit(1)


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show a progress bar if standard error is a terminal."""
    out = console(error=True)
    if not out.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield update


def _show(values: Mapping[str, Any]) -> None:
    from brim.audit.report import HEADS, policy_rows, summary

    recorded, records = values["recorded"], values["records"]
    out = console()
    formats = ", ".join(f"{name} {count:,}" for name, count in records["formats"].items())
    rows = {name: f"{count:,}" for name, count in summary(recorded)}
    events = {"records without a request": f"{records['silent']:,}"} if records["silent"] else {}
    unread = {"not read": f"{records['bad']:,}"} if records["bad"] else {}
    show(out, fields({"files": f"{len(values['files']):,}", "records": formats, **events, **unread, **rows}))
    if recorded["estimated"]:
        out.print(f"{counted(recorded['estimated'], 'request')} counted by estimate", style="dim")
    if recorded["reported"]["ratio"]:
        ratio, requests = 100 * recorded["reported"]["ratio"], counted(recorded["reported"]["requests"], "request")
        out.print(f"brim counts {ratio:.1f} % of the tokens that providers reported for {requests}", style="dim")
    out.print()
    policies = table(*HEADS, numbers=HEADS[1:])
    for row in policy_rows(values):
        policies.add_row(*row)
    show(out, policies)
    if recorded["overflows"]:
        over = counted(recorded["overflows"], "request")
        out.print(f"saved: without {over} over the window, which the provider rejects", style="dim")
    for each in values["policies"]:
        if each["changed"]:
            dropped, cut = counted(each["messages_dropped"], "message"), counted(each["messages_cut"], "message")
            out.print(f"{each['name']}: {dropped} dropped, {cut} shortened")
    for fault, count in recorded["faults"].items():
        out.print(f"illegal: {fault}, in {counted(count, 'request')}")
    _problems(out, records["named"], f"{counted(records['bad'], 'record')} could not be read:")
    _problems(out, recorded["named"], f"{counted(recorded['unreadable'], 'request')} could not be replayed:")
    if values["silent_files"]:
        skipped = counted(values["silent_files"], "file")
        out.print(f"skipped {skipped} from a directory or pattern: not a recording", style="dim")


def _problems(out: Console, named: list[Mapping[str, Any]], head: str) -> None:
    """Print the first problems of a kind, if there are any."""
    if named:
        out.print(head)
    for each in named[:MOST_ROWS]:
        sign = "-" if is_plain(out) else "·"
        out.print(f"  {sign} {each['file']}:{each['line']}: {each['problem']}")
