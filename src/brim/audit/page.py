"""The report as one HTML page without external resources and without scripts.

Names of files, models and policies are written by strangers, so every text in the page is escaped. Every plot is a
table with bars in its cells, so the value of each bar is also shown as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from brim.audit.report import HEADS, AuditReport, policy_rows, summary

_STYLE = """
:root{font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;color-scheme:light dark;
--line:#8884;--bar:#56b4e966;--over:#d55e0066}
body{margin:0 auto;max-width:74rem;padding:1.6rem 1.2rem 4rem}h1{font-size:1.45rem}h2{font-size:1.05rem;margin-top:2rem}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.8rem}
.facts b{display:block;font-size:1.35rem}.bad b{color:#d55e00}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .45rem;text-align:right;border-top:1px solid var(--line)}th{border-top:0;vertical-align:bottom}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere;min-width:8rem}
"""
_BAR = "background:linear-gradient(to left,var(--{kind}) {share:.1f}%,transparent 0)"
_NEXT = (
    "To fit one of these requests, run <code>brim fit REQUEST.json --capture --receipt receipt.json</code>. To try"
    " other budgets, run <code>brim studio receipt.json</code>. To fit all requests, use <code>brim gateway --upstream"
    " URL</code> or <code>client = brim.wrap(client)</code>."
)
_FULL = 10
"""The first bin of requests over the window."""


def page(report: AuditReport) -> str:
    """Return the report as a page of HTML."""
    values, records = report.values, report.values["records"]
    recorded, policies = values["recorded"], values["policies"]
    rows = [{**recorded, "name": "as recorded"}, *policies]
    files, names = values["files"], ("", *(each["name"] for each in rows))
    formats = ", ".join(f"{name} {count:,}" for name, count in records["formats"].items()) or "none"
    facts = "".join(
        f"<div{' class=bad' if bad and value else ''}><b>{value:,}</b>{escape(name)}</div>"
        for name, value, bad in summary(recorded)
    )
    size, shown = sum(each["bytes"] for each in files), files[0]["name"] if len(files) == 1 else f"{len(files):,} files"
    parts = [
        f"<h1>brim audit</h1><p>{escape(shown)}, {size:,} bytes; records: {escape(formats)}</p>",
        f'<div class="facts">{facts}</div>',
        _table("Policies", HEADS, policy_rows(values)),
        "<p>A request that the provider rejected cost nothing, so it does not count as saved. The cache share"
        " is the share of tokens that the provider can read from its cache.</p>",
        _bars("Requests by their share of the window", names, _sizes(rows), over=_FULL),
        _bars("Tokens by role, and how many are dropped or cut", names, _roles(recorded, policies)),
    ]
    heads = ("first record", "model", "requests", "over the window", "longest", "most tokens dropped")
    keys = ("requests", "overflows", "longest", "units_lost")
    worst = [(_place(each), each["model"], *(f"{each[key]:,}" for key in keys)) for each in values["worst"]]
    parts.append(_table("Worst conversations", heads, worst))
    faults = [(name, f"{count:,}") for name, count in recorded["faults"].items()]
    parts.append(_table("Requests that a provider would reject", ("problem", "requests"), faults))
    problems = [(_place(each), each["problem"]) for each in (*records["named"], *recorded["named"])]
    parts.append(_table("Records that could not be read or replayed", ("position", "problem"), problems))
    parts.append(f"<h2>Next</h2><p>{_NEXT}</p>")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>brim audit</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _place(each: Mapping[str, Any]) -> str:
    return f"{each['file']}:{each['line']}"


def _sizes(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[int]]]:
    """Return the requests of each bin, for the recorded requests and for each policy."""
    last = len(rows[0]["sizes"]) - 1
    labels = [f"up to {10 * at + 10} %" if at < last else f"more than {10 * at} %" for at in range(last + 1)]
    return [(label, [row["sizes"][at] for row in rows]) for at, label in enumerate(labels)]


def _roles(recorded: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[int]]]:
    """Return the recorded tokens of each role, and how many of them each policy does not send."""
    lost = [each["units_lost_by_role"] for each in policies]
    return [(role, [units, *(each.get(role, 0) for each in lost)]) for role, units in recorded["units_by_role"].items()]


def _bars(title: str, heads: Sequence[str], rows: Sequence[tuple[str, list[int]]], over: int | None = None) -> str:
    """Return a table of counts with a bar in each cell; rows from index `over` on use another colour."""
    most = max((count for _, counts in rows for count in counts), default=0) or 1
    styles = {
        (at, column + 1): _BAR.format(kind="over" if over is not None and at >= over else "bar", share=100 * n / most)
        for at, (_, counts) in enumerate(rows)
        for column, n in enumerate(counts)
    }
    return _table(title, heads, [(name, *(f"{n:,}" for n in counts)) for name, counts in rows], styles)


def _table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    styles: Mapping[tuple[int, int], str] | None = None,
) -> str:
    """Return a table with its title; nothing if it has no rows."""
    if not rows:
        return ""
    known = styles or {}

    def cell(at: int, column: int, text: str) -> str:
        style = f' style="{known[at, column]}"' if (at, column) in known else ""
        return f"<td{style}>{escape(text)}</td>"

    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    lines = ("".join(cell(at, column, text) for column, text in enumerate(row)) for at, row in enumerate(rows))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<h2>{escape(title)}</h2><div class="wide"><table><tr>{head}</tr>{body}</table></div>'
