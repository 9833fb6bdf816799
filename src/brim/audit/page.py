"""The report as one HTML page without external resources and without scripts.

Names of files, models and policies are written by strangers, so every text in the page is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from brim.audit.plots import ICON, ROLES, bars, sizes, stacks
from brim.audit.report import HEADS, AuditReport, dollars, percent, policy_rows, summary

_STYLE = """
:root{--paper:#fff;--ground:#f3f5f7;--ink:#17202a;--soft:#566270;--line:#d8dee5;--water:#0f6fae;--wash:#d9ecf8;
--brim:#c24e00;--spill:#a94f86;font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
color:var(--ink);background:var(--ground)}
@media (prefers-color-scheme:dark){:root{--paper:#171d24;--ground:#0f1318;--ink:#e8edf2;--soft:#a3b0bd;--line:#2c3640;
--water:#6cc0f2;--wash:#16384d;--brim:#ff8f45;--spill:#e29cc6;color-scheme:dark}}
*{box-sizing:border-box}body{margin:0 auto;max-width:74rem;padding:1.6rem 1.2rem 4rem}
h1{font-size:1.45rem;margin:0;display:flex;gap:.6rem;align-items:center}h2{font-size:1.05rem;margin:0 0 .6rem}
p{margin:.3rem 0}.soft{color:var(--soft)}code{font:.88em ui-monospace,Menlo,"DejaVu Sans Mono",monospace;
overflow-wrap:anywhere}.card{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:1.1rem;
margin:1.1rem 0;overflow-x:auto}
.card>svg{min-width:34rem}.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.8rem}
.fact b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums}.fact.bad b{color:var(--brim)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%}th,td{padding:.32rem .45rem;text-align:right;
border-top:1px solid var(--line);font-variant-numeric:tabular-nums;white-space:nowrap}th{border-top:0;color:var(--soft);
font-weight:600;white-space:normal;vertical-align:bottom}th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:8rem}
svg{width:100%;height:auto;display:block;margin:.3rem 0}h1 svg{width:30px}.in{fill:#56b4e9}.over{fill:var(--spill)}
.brim{stroke:var(--brim);stroke-width:2.5;fill:none}.axis{stroke:var(--line);fill:none}
text{font-size:12px;fill:var(--ink)}.tick{fill:var(--soft)}.name{font-weight:600}.in-bar{fill:#17202a}
.brim-word{fill:var(--brim);font-weight:600}.keys{display:flex;flex-wrap:wrap;gap:.3rem 1rem;color:var(--soft)}
.key i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;margin-right:.35rem;vertical-align:-1px}
"""


def page(report: AuditReport) -> str:
    """Return the report as a page of HTML."""
    values = report.values
    recorded, policies = values["recorded"], values["policies"]
    rows = [{**recorded, "name": "as recorded"}, *policies]
    tallest = max(max(each["sizes"]) for each in rows)
    shares = [(each["name"], each["cache_share"], percent(each["cache_share"])) for each in rows]
    costs = [(each["name"], each["cost_usd"], _cost(each)) for each in rows]
    parts = [
        f"<h1>{ICON}brim audit</h1>",
        f'<p class="soft">{escape(_of(values))}</p>',
        _facts(recorded),
        _card("Policies", _table(HEADS, policy_rows(values))),
        _card(
            "How full the window is",
            '<p class="soft">Requests by the share of the window that they fill. Those right of the line are over'
            " it.</p>",
            *(sizes(each["name"], each["sizes"], tallest) for each in rows),
        ),
        _card("Tokens by role, and tokens that would be dropped", _roles(recorded, policies)),
        _card("The prompt cache", bars(shares, 1.0), f'<p class="soft">{_CACHE_NOTE}</p>'),
    ]
    if any(policy["cost_usd"] is not None for policy in policies):
        parts.append(
            _card(
                "Cost of input",
                bars(costs, max(cost or 0.0 for _, cost, _ in costs)),
                f'<p class="soft">{_COST_NOTE}</p>',
            )
        )
    parts.append(_card("Worst conversations", _worst(values["worst"])))
    if recorded["faults"]:
        faults = [(name, f"{count:,}") for name, count in recorded["faults"].items()]
        parts.append(_card("Requests that a provider refuses", _table(("problem", "requests"), faults)))
    if problems := [*values["records"]["named"], *recorded["named"]]:
        listed = [(f"{each['file']}:{each['line']}", each["problem"]) for each in problems]
        parts.append(_card("Records that could not be read or replayed", _table(("position", "problem"), listed)))
    parts.append(_card("Next", f"<p>{_NEXT}</p>"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>brim audit</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


_NEXT = (
    "Fit one of these requests: <code>brim fit REQUEST.json --capture --receipt receipt.json</code>. Then open the"
    " budget lab on it, move the budget and see what drops: <code>brim studio</code>. Let every request fit from now"
    " on: <code>brim gateway --upstream URL</code>, or <code>client = brim.wrap(client)</code>."
)
_CACHE_NOTE = (
    "The share of all tokens that a prompt shares with the start of the previous one, where that start is long enough"
    " for the provider to cache it."
)
_COST_NOTE = (
    "At the providers' prices for input, with the start of each prompt read from the cache as above. Requests over the"
    " window, and illegal ones, cost nothing as recorded, because the provider refuses them. Their cost under a policy"
    " is listed separately, and none of it counts as saved."
)


def _of(values: Mapping[str, Any]) -> str:
    files, total = values["files"], sum(each["bytes"] for each in values["files"])
    formats = ", ".join(f"{name} {count:,}" for name, count in values["records"]["formats"].items())
    name = files[0]["name"] if len(files) == 1 else f"{len(files):,} files"
    silent, bad = values["records"]["silent"], values["records"]["bad"]
    events = f"; {silent:,} of them are events and no requests" if silent else ""
    return f"{name}, {total:,} bytes; records: {formats or 'none'}{events}" + (f"; {bad:,} not read" if bad else "")


def _facts(recorded: Mapping[str, Any]) -> str:
    facts = "".join(
        f'<div class="fact{" bad" if bad and value else ""}"><b>{value:,}</b>{escape(name)}</div>'
        for name, value, bad in summary(recorded)
    )
    return f'<section class="card facts">{facts}</section>'


def _roles(recorded: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> str:
    bars_by_role = [("as recorded", _ordered(recorded["units_by_role"]))]
    bars_by_role += [(f"{each['name']}: dropped or cut", _ordered(each["units_lost_by_role"])) for each in policies]
    rows = [
        (each["name"], f"{each['messages_dropped']:,}", f"{each['messages_cut']:,}", f"{each['changed']:,}")
        for each in policies
    ]
    heads = ("policy", "messages dropped", "messages cut", "requests changed")
    return stacks(bars_by_role, "tokens") + _table(heads, rows)


def _cost(row: Mapping[str, Any]) -> str:
    refused = row.get("cost_of_refused_usd")
    return dollars(row["cost_usd"]) + (f", {dollars(refused)} of it for requests that were refused" if refused else "")


def _worst(conversations: Sequence[Mapping[str, Any]]) -> str:
    heads = ("first record", "model", "requests", "over the window", "longest", "most tokens dropped")
    rows = [
        (
            f"{each['file']}:{each['line']}",
            each["model"],
            *(f"{each[key]:,}" for key in ("requests", "overflows", "longest", "units_lost")),
        )
        for each in conversations
    ]
    return _table(heads, rows)


def _ordered(by_role: Mapping[str, int]) -> dict[str, int]:
    known = {role: by_role[role] for role in ROLES if role in by_role}
    return {**known, **{role: units for role, units in by_role.items() if role not in known}}


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _card(title: str, *parts: str) -> str:
    return f'<section class="card"><h2>{escape(title)}</h2>{"".join(parts)}</section>'
