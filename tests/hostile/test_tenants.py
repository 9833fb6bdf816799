"""A neighbour reads nothing: every pair of tenants, session name, handle, route, MCP and studio; 0 texts cross.

Real gateways of three set-ups share one store: with keys of the gateway, with keys that are passed on, and with none. A
model recalls whatever its client tells it to. Every owner may find its own text, which shows that the search works.
"""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import pytest
from mcp import Client, StdioServerParameters

import brim
from brim.gateway.client.paths import FITTED
from brim.sessions.log.overview import overview
from hostile.tenants import KINDS, OWNERS, ROUTES, SECRETS, Owner, address, environ, gateways, owners_in, process, world

NAMES = ("own name", "victim's name", "no name", "victim's name as user")
SOURCE = Path(brim.__file__).parent


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with world(str(tmp_path_factory.mktemp("tenants"))) as found:
        yield found


def shown(title, table):
    print(f"\n{title}")
    for name, count in sorted(table.items()):
        print(f"  {name}: {count:,}")
    print(f"  in all: {sum(table.values()):,}, crossed: 0")


def given(name, attacker, victim):
    """Return how a request names its conversation; `None` if nothing then tells the two apart."""
    taken = victim.setup == "none" or attacker.tenant == "ada"
    if name.startswith("victim's name") and attacker.setup == "none" and taken:
        return None  # Without any key, who gives the name of a conversation has it: only one of them may take a name.
    header = {"own name": attacker.session, "victim's name": victim.session}.get(name)
    if header is not None:
        return {"header": header}
    return {"user": victim.session} if name == "victim's name as user" else {}


def attack(made, pairs, routes):
    """Let each attacker ask for the texts of its victim in every way, and return how many ways there were."""
    table = Counter()
    made.model.bodies.clear()
    for (attacker, victim), name, kind in itertools.product(pairs, NAMES, KINDS):
        for route, kept in routes():
            names = given(name, attacker, victim)
            if names is None:
                continue
            asked = made.arguments(victim, kept, kind)
            answer = made.ask(attacker, route, asked, **names)
            assert "brought back" in answer
            assert owners_in(answer) <= {attacker}, (attacker, victim, name, kind, route)
            table[f"gateway, {attacker.setup} -> {victim.setup}"] += 1
    for body in made.model.bodies:
        assert len(owners_in(body.decode())) <= 1
    assert len(made.model.bodies) >= 2 * sum(table.values())  # Each was answered by a recall.
    return table


def found_by_owners(made, owners, kinds=KINDS, routes=ROUTES):
    """Let owners recall their own texts, and return how many they found."""
    found = 0
    for owner, kind, route in itertools.product(owners, kinds, routes):
        answer = made.ask(owner, route, made.arguments(owner, route, kind), header=owner.session)
        found += owner.token(route) in answer
    return found


def neighbours():
    return [(one, two) for one, two in itertools.permutations(OWNERS, 2) if one.setup == two.setup]


@pytest.mark.hostile
def test_no_text_crosses_between_any_owners_on_any_route_after_a_restart(made):
    """New processes know only what the store says."""
    with gateways(made, made.upstream):
        table = attack(made, list(itertools.permutations(OWNERS, 2)), lambda: itertools.product(ROUTES, ROUTES))
        found = found_by_owners(made, OWNERS)
    assert found == len(OWNERS) * len(KINDS) * len(ROUTES)
    shown("asked for through gateways that were started again, every route for every route", table)
    print(f"  found by their owners: {found:,}")


def calls_of(made, victims, sessions):
    """Return the calls by which an agent asks for the texts of others."""
    found = []
    for victim, kind, route in itertools.product(victims, KINDS, ROUTES):
        asked = made.arguments(victim, route, kind)
        for session in (None, victim.session, made.sessions[victim, route], *sessions):
            found.append(("recall", asked if session is None else {**asked, "session": session}))
        found.append(("status", {"session": made.sessions[victim, route]}))
    return [*found, ("status", {})]


def told(target, calls):
    """Call tools over a real transport, and return all that was answered."""

    async def asked():
        async with Client(target) as client:
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            return [str(each.structured_content or each.content) for each in results]

    return asyncio.run(asked())


def over_stdio(made, *sessions):
    options = [part for session in sessions for part in ("--session", session)]
    command = ["-m", "brim", "mcp", "--store", made.store, *options]
    return StdioServerParameters(command=sys.executable, args=command, env=environ(made.folder), cwd=made.folder)


def agent_table(made, attacker, victims=OWNERS):
    """Let the agent of an owner ask for the texts of others, and return how many answers it got."""
    own = [made.sessions[attacker, route] for route in ROUTES]
    others = [owner for owner in victims if owner != attacker]
    calls = calls_of(made, others, own)
    mine = [
        ("recall", {**made.arguments(attacker, route, kind), "session": made.sessions[attacker, route]})
        for route, kind in itertools.product(ROUTES, KINDS)
    ]
    answers = told(over_stdio(made, *own), [*calls, *mine])
    for (_, arguments), answer in zip(calls, answers, strict=False):
        assert owners_in(answer) <= {attacker}, (arguments, answer)
        for (owner, _), session in made.sessions.items():  # Errors name nothing of others but what the asker named.
            assert owner == attacker or session not in answer or session == arguments.get("session")
    assert all(owners_in(answer) == {attacker} for answer in answers[len(calls) :])
    return Counter({f"mcp, {attacker.setup}": len(calls)})


@pytest.mark.hostile
def test_no_text_crosses_to_the_agent_of_any_owner(made):
    table = Counter()
    for attacker in OWNERS:
        table += agent_table(made, attacker)
    shown("asked for by the agents of all owners", table)


@pytest.mark.hostile
def test_an_agent_that_was_started_for_no_session_reads_no_clients_conversation(made):
    calls = calls_of(made, OWNERS, [])
    answers = told(over_stdio(made), calls)
    assert set().union(*map(owners_in, answers)) == set()
    shown("asked for by an agent without sessions of its own", Counter({"mcp": len(calls)}))


def noted(made):
    """Let a program of each tenant keep a session of its own; return the handle of a text of each."""
    found = {}
    with brim.open_store(made.store) as store:
        for tenant in ("ada", "bob"):
            owner = Owner("own program", tenant)
            session = brim.Session(1_200, model="gpt-5", store=store, id=f"{tenant}-notes")
            session.add(history_of(owner))
            session.prompt()
            found[tenant] = next(
                hit.handle for hit in session.search("code vault") if owners_in(session.recall(hit.handle))
            )
    return found


def history_of(owner):
    said = [{"role": "user", "content": "Find the code of the vault."}]
    for i in range(40):
        said.append(
            {"role": "assistant", "content": f"Clue {i}: the code of the vault is {owner.token('notes')}. " * 3}
        )
        said.append({"role": "user", "content": f"Go on with {i}."})
    return said


def studio_table(made):
    """Let the studio bring texts of one session into another, and strangers ask it; return how many tried."""
    handles = noted(made)
    operator = {"authorization": f"Bearer {SECRETS['STUDIO_TOKEN']}", "content-type": "application/json"}

    def ask(url, method, view, headers=operator, **fields):
        host, port = url.split("//")[1].strip("/").split(":")
        fields = {"workspace": "mine", **fields}
        place = f"/api/{view}" + (f"?{urlencode(fields)}" if method == "GET" else "")
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        try:
            connection.request(method, place, json.dumps(fields) if method == "POST" else None, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    crossed, table, refused = [], Counter(), []
    command = ("studio", "--no-open", "--port", "0", "--token", "STUDIO_TOKEN", "--store", made.store)
    with process(made.folder, *command) as started:
        url = address(started).partition("?")[0]
        for one, two in itertools.permutations(("ada", "bob")):
            session = f"{one}-notes"
            for kind, view in itertools.product((handles[two], handles[two][:11]), ("pin", "restore")):
                refused.append(ask(url, "POST", view, session=session, handle=kind)[0])
                table["studio, pin and restore"] += 1
            for view, more in (
                ("ledger", {}),
                ("cache", {}),
                ("insights", {}),
                ("prompt", {}),
                ("timeline", {}),
            ):
                status, answer = ask(url, "GET", view, session=session, **more)
                assert status == 200, answer
                crossed += owners_in(answer) - {Owner("own program", one)}
                table["studio, views of a session"] += 1
        plain = {"content-type": "application/json"}
        for view, more in (
            ("text", {"handle": handles["ada"]}),
            ("search", {"query": "code"}),
            ("gateway", {}),
            ("sessions", {}),
        ):
            for headers in (plain, {**plain, "authorization": f"Bearer {SECRETS['ADA_KEY']}"}):
                status, answer = ask(url, "GET", view, headers, **more)
                refused.append(status)
                crossed += owners_in(answer)
                table["studio, without its token"] += 1
        status, everything = ask(url, "GET", "sessions")
        assert status == 200
        assert owners_in(ask(url, "GET", "text", handle=handles["ada"])[1]) == {Owner("own program", "ada")}
    assert crossed == []
    assert Counter(refused) == {404: 8, 401: 8}
    assert all(session in everything for session in made.sessions.values())  # The local operator sees all of them.
    return table


def check_status(made):
    """Check that a status lists the conversations of its key, and for the local operator all."""

    def listed(setup, **headers):
        host, port = made.gateways[setup].removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        try:
            connection.request("GET", "/brim/status", headers=headers)
            return {row["id"] for row in json.loads(connection.getresponse().read())["conversations"]}
        finally:
            connection.close()

    def own(setup, *tenants):
        return {made.sessions[Owner(setup, tenant), route] for tenant in tenants for route in ROUTES}

    for one, two in itertools.permutations(("ada", "bob")):
        seen = listed("gateway keys", **Owner("gateway keys", one).headers)
        assert own("gateway keys", one) <= seen
        assert not own("gateway keys", two) & seen
    assert own("passed keys", "ada", "bob") <= listed("passed keys")
    with brim.open_store(made.store) as store:
        assert set(made.sessions.values()) <= {row.id for row in overview(store, recent=999).gateway}


def test_no_text_of_a_tenant_reaches_another(made):
    turn = itertools.cycle(ROUTES)
    table = attack(made, neighbours(), lambda: [(next(turn),) * 2])
    assert sum(table.values()) == 60  # 72, without the 12 in which no key and no name tells them apart.
    found = found_by_owners(made, OWNERS, routes=["chat"])
    assert found == len(OWNERS) * len(KINDS)
    check_status(made)
    table += agent_table(made, Owner("passed keys", "bob"), OWNERS[2:4])
    table += studio_table(made)
    shown("texts asked for by those who do not own them", table)
    print(f"  found by their owners: {found:,}")


def test_the_routes_that_are_tried_are_all_that_are_fitted():
    assert sorted(FITTED.values()) == sorted(ROUTES)
