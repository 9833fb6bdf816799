import json

import pytest

from audit import traces


@pytest.fixture
def log(here):
    traces.write(here / "log.jsonl", traces.openai_log())
    return "log.jsonl"


def test_audit_prints_what_was_recorded_and_what_each_policy_does(brim, log):
    done = brim("audit", log, "--window", "100", "--policy", "window", "--policy", "lean:budget=90,stable=true")
    assert done.code == 0
    assert done.err == ""
    lines = [line.split() for line in done.out.splitlines()]
    assert ["over", "the", "window", "1"] in lines
    assert next(line for line in lines if line[:1] == ["lean"])[1:5] == ["1", "0", "0", "1"]
    assert "lean: 0 messages dropped, 1 message shortened" in done.out
    assert "saved: without 1 request over the window, which the provider rejects\n" in done.out


def test_audit_as_json_is_the_report(brim, log):
    done = brim("audit", log, "--json", "--model", "gpt-5")
    values = json.loads(done.out)
    assert values["version"] == 2
    assert values["recorded"]["models"] == {"gpt-5": 2}
    assert values["plan"]["policies"][0]["name"] == "wrap"
    assert values["plan"]["policies"][0]["stable"] is True


def test_audit_reads_standard_input(brim, log, here):
    done = brim("audit", "-", "--json", stdin=(here / log).read_bytes())
    values = json.loads(done.out)
    assert values["recorded"]["requests"] == 2
    assert values["files"][0]["name"] == "standard input"


def test_audit_says_no_where_a_request_does_not_fit(brim, log):
    done = brim("audit", log, "--policy", "tiny:budget=3")
    assert done.code == 1
    assert "tiny" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "missing argument 'TRACES'"),
        (("nowhere.jsonl",), "nowhere.jsonl: it cannot be read: no such file or directory"),
        (("log.jsonl", "--policy", "a:b=1"), "a key of policy a"),
        (("log.jsonl", "--policy", "none"), "or wrap or window"),
        (("log.jsonl", "--window", "0"), "--window"),
        (("log.jsonl", "--model", "gtp-5"), "gpt-5"),
        (("empty",), "empty: the file is empty"),
    ],
)
def test_audit_refuses_what_it_cannot_take_in_one_line(brim, log, here, arguments, said):
    (here / "empty").write_text("")
    done = brim("audit", *arguments)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
