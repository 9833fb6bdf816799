"""`brim audit`: recorded traffic replayed under policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from brim.cli import options
from brim.cli.output import console, emit, fields, is_plain, show, table, told, whole, write_files
from brim.errors import InvalidValue

if TYPE_CHECKING:
    from brim.audit import AuditReport
    from brim.audit.audit import Progress
    from brim.audit.executor import Engine

_MOST_NAMED = 5
"""Records that are named in the terminal; the JSON has more."""

_Traces = Annotated[
    list[str] | None,
    typer.Argument(metavar="TRACES...", help="Files, patterns or directories, .gz too; - is standard input."),
]
_Policy = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="NAME:KEY=VALUE,...",
        help="What to replay under: lean:budget=32000,stable=true, or a profile's name; may be given several times."
        " Keys: budget, window, cap, reserve, meter, stable, select, within, recent, older, pin_first_user, note.",
    ),
]
_Model = Annotated[
    str | None, typer.Option("--model", "-m", metavar="NAME", help="Take every request for one of this model.")
]
_Window = Annotated[
    str | None, typer.Option("--window", "-w", metavar="N", help="Tokens that every model holds, whatever is known.")
]
_Limit = Annotated[str | None, typer.Option("--limit", metavar="N", help="Replay a sample of so many conversations.")]
_Workers = Annotated[
    str | None, typer.Option("--workers", metavar="N", help="Processes; without it, one for each core.")
]
_Engine = Annotated[str, typer.Option("--engine", metavar="NAME", help="processes of this machine, or ray.")]
_Address = Annotated[
    str | None, typer.Option("--ray-address", metavar="HOST:PORT", help="The Ray cluster, if not the one that runs.")
]
_Spool = Annotated[
    str | None,
    typer.Option("--spool", metavar="DIR", help="Where to unpack and to keep the index; as big as what is unpacked."),
]
_Config = Annotated[str | None, typer.Option("--config", "-c", metavar="FILE", help="brim.yaml, for profiles.")]
_Html = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the report there as a page.")]


def run(
    *,
    traces: _Traces = None,
    policy: _Policy = None,
    model: _Model = None,
    window: _Window = None,
    limit: _Limit = None,
    workers: _Workers = None,
    engine: _Engine = "processes",
    ray_address: _Address = None,
    spool: _Spool = None,
    config: _Config = None,
    html: _Html = None,
    json: options.Json = False,
) -> None:
    """Replay recorded traffic, and tell what brim would have changed.

    Reads OpenAI and Anthropic requests as JSONL, OpenTelemetry GenAI spans, exports of LangSmith and Langfuse, and
    the session logs of Claude Code and Codex, told apart by what is in them. Without a policy, each request is fitted
    to the window of its model. The exit code is 1 if under one of the policies a request does not fit.

    Example: brim audit ~/.claude/projects --policy lean:budget=60000,stable=true --html report.html
    """
    from brim.audit import audit, policies_of
    from brim.meter import meter

    given = list(policy or ())
    loaded = None
    if config is not None or any(":" not in each and each != "window" for each in given):
        from brim.settings import load_config

        loaded = load_config(config)
    policies = policies_of(given, loaded)
    if not traces:
        raise InvalidValue("TRACES", [], "one file at least")
    if model is not None:
        meter(model)
    with _bar() as progress:
        report = audit(
            traces,
            policies,
            model=model,
            window=whole("--window", window, 1),
            limit=whole("--limit", limit, 1),
            engine=cast("Engine", engine),
            workers=whole("--workers", workers, 1),
            ray_address=ray_address,
            spool=spool,
            progress=progress,
        )
    if html is not None:
        from brim.audit.page import page

        write_files({html: page(report)})
    if json:
        emit(report.values)
    else:
        _show(report, html)
    if any(each["does_not_fit"] for each in report.values["policies"]):
        raise typer.Exit(1)


@contextmanager
def _bar() -> Iterator[Progress]:
    """Show how far it is on the error stream, where a person looks at it."""
    out = console(error=True)
    if not out.is_terminal:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<10}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True) as shown:
        tasks: dict[str, Any] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            shown.update(tasks[what], completed=done, total=total)

        yield tell


def _show(report: AuditReport, html: str | None) -> None:
    from brim.audit.figures import summary

    values = report.values
    recorded, records = values["recorded"], values["records"]
    out = console()
    plain = is_plain(out)
    rows: dict[str, str] = {name: f"{count:,}" for name, count, _ in summary(recorded)}
    formats = ", ".join(f"{name} {count:,}" for name, count in records["formats"].items())
    out.print(fields({"files": f"{len(values['files']):,}", "records": formats, **rows}))
    if recorded["estimated"]:
        out.print(f"{told(recorded['estimated'], 'request')} counted by an estimate of the model's tokens", style="dim")
    if recorded["reported"]["ratio"]:
        ratio = 100 * recorded["reported"]["ratio"]
        out.print(
            f"brim counts {ratio:.1f} % of what providers reported for"
            f" {told(recorded['reported']['requests'], 'request')}",
            style="dim",
        )
    out.print()
    _table(report)
    for each in values["policies"]:
        lost = ", ".join(f"{role} {units:,}" for role, units in each["units_lost_by_role"].items())
        if lost:
            dropped, cut = told(each["messages_dropped"], "message"), told(each["messages_cut"], "message")
            out.print(f"{each['name']}: {dropped} dropped, {cut} cut; tokens by role: {lost}", soft_wrap=True)
    for fault, count in recorded["faults"].items():
        out.print(f"illegal: {fault}, in {told(count, 'request')}", soft_wrap=True)
    _problems(out, values, "-" if plain else "·")
    if values["silent_files"]:
        silent = told(values["silent_files"], "file")
        out.print(f"{silent} of a directory or pattern without a recording, passed over", style="dim", soft_wrap=True)
    if html is not None:
        out.print(f"the page is in {html}", soft_wrap=True)


def _table(report: AuditReport) -> None:
    from brim.audit.figures import HEADS, policy_rows

    policies = table(*HEADS, numbers=HEADS[1:])
    for row in policy_rows(report.values):
        policies.add_row(*row)
    show(console(), policies)


def _problems(out: Any, values: Mapping[str, Any], sign: str) -> None:
    """Print what could not be read or judged, the first of it by name."""
    for named, count, what in (
        (values["records"]["named"], values["records"]["bad"], "record could not be read"),
        (values["recorded"]["named"], values["recorded"]["unreadable"], "request could not be replayed"),
    ):
        if count:
            noun, _, rest = what.partition(" ")
            out.print(f"{told(count, noun)} {rest}:", soft_wrap=True)
            for each in named[:_MOST_NAMED]:
                out.print(f"  {sign} {each['file']}:{each['line']}: {each['problem']}", soft_wrap=True)
