"""A file of any format that the audit reads opens as sessions, with its texts and tokens; a broken one says why."""

import gzip
import json

import pytest

import brim
from audit import traces
from brim.studio import lab_source
from brim.studio.views import cache, prompt, search, sessions
from studio.test_sizes import check_sizes
from studio.views.test_prompt import said

MAKERS = {maker.__name__: maker for makers in traces.ALL.values() for maker in makers}


def opened(workspace, path):
    file = workspace.files.open(str(path), wait=60)
    assert (file.finished, file.problem) == (True, "")
    return file


@pytest.mark.parametrize("name", list(MAKERS))
def test_every_format_of_the_audit_opens_and_its_numbers_agree_on_every_screen(workspace, tmp_path, name):
    file = opened(workspace, traces.write(tmp_path / f"{name}.jsonl", MAKERS[name]()))
    assert (len(file.sessions), file.prompts) == (1, 2)
    assert len(check_sizes(workspace, file.sessions[0])) == 2
    texts = " ".join(row["text"] for row in prompt.prompt(workspace, file.sessions[0])["rows"])
    assert traces.TASK in texts
    assert "src/window.py: class Window" in texts


@pytest.mark.parametrize("maker", [traces.openai_bodies, traces.anthropic_bodies, traces.responses_bodies])
def test_the_body_of_a_request_is_the_one_in_the_file(workspace, tmp_path, maker):
    bodies = maker()
    session = opened(workspace, traces.write(tmp_path / "log.jsonl", bodies)).sessions[0]
    for step, body in enumerate(bodies, 1):
        shown = json.loads(prompt.prompt_body(workspace, session, str(step))["body"])
        assert shown == {key: value for key, value in body.items() if key != "max_tokens"}


@pytest.mark.parametrize(
    ("maker", "answer"),
    [
        (traces.openai_bodies, {"choices": [{"message": {"role": "assistant", "content": "in window.py"}}]}),
        (traces.anthropic_bodies, {"role": "assistant", "content": [{"type": "text", "text": "in window.py"}]}),
        (traces.responses_bodies, {"output": [said("responses", "assistant", "in window.py")]}),
    ],
)
def test_the_answer_of_a_log_stands_beside_its_request(workspace, tmp_path, maker, answer):
    log = [{"request": maker()[1], "response": answer}]
    session = opened(workspace, traces.write(tmp_path / "log.jsonl", log)).sessions[0]
    assert prompt.prompt(workspace, session)["answer"] == {"text": "in window.py"}


def test_one_request_over_many_lines_is_one_prompt_and_a_packed_file_too(workspace, tmp_path):
    path = tmp_path / "request.json.gz"
    path.write_bytes(gzip.compress(json.dumps(traces.openai_bodies()[1], indent=2).encode()))
    assert opened(workspace, path).prompts == 1


def test_a_request_without_a_model_ends_with_the_question_that_waits(workspace, tmp_path):
    messages = [*traces.CHAT, {"role": "user", "content": "and where is it read?"}]
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"messages": messages}))
    session = opened(workspace, path).sessions[0]
    assert prompt.prompt(workspace, session)["rows"][-1]["text"] == "and where is it read?"


def test_what_a_program_left_out_of_a_request_is_shown_in_its_place(workspace, tmp_path):
    roles = ("user", "assistant")
    turns = [{"role": role, "content": f"{role} {i} " + "word " * 30} for i in range(6) for role in roles]
    start = [{"role": "system", "content": "Be brief."}]
    shorter = start + turns[:8] + turns[10:]
    bodies = [{"model": "gpt-4o", "messages": messages} for messages in (start + turns, shorter)]
    session = opened(workspace, traces.write(tmp_path / "log.jsonl", bodies)).sessions[0]
    rows = prompt.prompt(workspace, session, "2")["rows"]
    assert [row["text"] for row in rows if row["text"]] == [each["content"] for each in start + turns]
    assert [row["sent"] for row in rows][:12] == [True] * 9 + [False] * 2 + [True]
    assert all("did not include it" in row["why"] for row in rows if not row["sent"])
    call = {each["step"]: each for each in cache.cache(workspace, session)["calls"]}[2]
    assert call["why"] == "compacted"
    assert call["difference"]["index"] == 9


def test_a_receipt_opens_as_a_prompt_with_what_was_taken_out(workspace, tmp_path):
    sections = [
        brim.Section("plan", "Do it now. " * 20, priority="high"),
        brim.Section("docs", "\n".join(f"line {i} of the docs" for i in range(400)), priority="low"),
        brim.Section("gone", "zebra " * 500, priority="low"),
    ]
    fitted = brim.fit(sections, budget=400, model="gpt-5", capture=True)
    path = tmp_path / "receipt.json"
    path.write_text(fitted.receipt.to_json())
    file = opened(workspace, path)
    told, listed = prompt.prompt(workspace, file.sessions[0]), sessions.sessions(workspace)["sessions"][0]
    assert file.prompts == listed["prompts"] == 1
    assert [listed[key] for key in ("peak", "budget", "window")] == [fitted.receipt.used, 400, 400]
    assert [listed[key] for key in ("warnings", "compactions", "overflows", "problems")] == [0, 0, 0, []]
    assert sum(row["units"] for row in told["rows"] if row["sent"]) == fitted.receipt.used == told["used"]
    states = {row["role"]: row["state"] for row in told["rows"]}
    assert states == {"plan": "whole", "docs": "shortened", "gone": "left out"}
    docs = next(row for row in told["rows"] if row["role"] == "docs")
    assert docs["text"] in fitted.text
    assert any(sign == "-" and "line 399" in text for sign, text in docs["taken"])


def test_the_receipt_of_messages_opens_as_what_was_sent(workspace, tmp_path):
    said = [{"role": ("user", "assistant")[i % 2], "content": f"number {i} " * 10} for i in range(41)]
    fitted = brim.fit_messages(said, budget=500, model="gpt-4o", capture=True)
    path = tmp_path / "receipt.json"
    path.write_text(fitted.receipt.to_json())
    session = opened(workspace, path).sessions[0]
    told = prompt.prompt(workspace, session)
    assert sum(row["units"] for row in told["rows"] if row["sent"]) == fitted.used == told["used"]
    assert json.loads(prompt.prompt_body(workspace, session)["body"])["messages"] == fitted.messages


def test_the_receipt_of_a_whole_request_opens_and_is_fitted_at_any_budget(workspace, tmp_path):
    said = [{"role": ("user", "assistant")[i % 2], "content": f"number {i} " * 10} for i in range(41)]
    given = {
        "system": [brim.Section("rules", "Be brief. " * 5, priority="required")],
        "messages": said,
        "user": [brim.Section("documents", [f"document {i} " * 20 for i in range(30)], keep="best", floor="20%")],
        "model": "gpt-4o",
    }
    made = brim.fit_request(**given, budget=900, capture=True)
    path = tmp_path / "receipt.json"
    path.write_text(made.receipt.to_json())
    session = opened(workspace, path).sessions[0]
    told = prompt.prompt(workspace, session)
    assert sum(row["units"] for row in told["rows"] if row["sent"]) == made.used == told["used"]
    assert {"rules", "documents"} <= {row["role"] for row in told["rows"]}
    assert told["replayable"], "the page had no button for the lab"
    assert json.loads(prompt.prompt_body(workspace, session)["body"]) == made.body
    source = lab_source.opened(workspace, f"prompt:{session}@1")
    for budget in (500, 900, 2_000):
        found, due = source.fit(budget).receipt, brim.fit_request(**given, budget=budget).receipt
        assert [(part.name, part.used, part.state) for part in found.parts] == [
            (part.name, part.used, part.state) for part in due.parts
        ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b'{"model": ', "not JSON"),
        (b'{"hello": 1}', "unknown recording format"),
        (b"\x00\xff\x00binary", "not UTF-8|not JSON"),
        (b"plain words\nof a log\n", "not JSON"),
        (b"SQLite format 3\x00....", "this is a store"),
    ],
)
def test_a_broken_file_says_what_is_wrong_in_one_sentence(workspace, tmp_path, content, said):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(brim.SourceError, match=said) as caught:
        workspace.files.open(str(path), wait=60)
    assert "\n" not in str(caught.value)
    with pytest.raises(brim.SourceError, match="no such file"):
        workspace.files.open(str(tmp_path / "absent.json"))


def test_a_file_comes_over_http_from_the_page_alone_and_leaves_nothing_behind(alone):
    content = "".join(json.dumps(record) + "\n" for record in traces.openai_log()).encode()
    own = {"Content-Type": "application/octet-stream", "Sec-Fetch-Site": "same-origin"}
    path = "/api/open_file?name=log.jsonl"
    assert alone.ask(path, method="POST", headers=own, body=content)[0] == 200
    for _ in range(400):
        file = alone.get("files")[1]["files"][0]
        if file["finished"]:
            break
    assert (file["problem"], file["prompts"]) == ("", 2)
    assert alone.get("sessions")[1]["sessions"][0]["source"] == "log.jsonl"
    assert alone.ask(path, method="POST", headers=own, body=b"SQLite format 3\x00")[0] == 400
    for wrong in ({**own, "Sec-Fetch-Site": "cross-site"}, {**own, "Content-Type": "text/plain"}):
        assert alone.ask(path, method="POST", headers=wrong, body=content)[0] in (403, 415)
    assert len(alone.get("files")[1]["files"]) == 1
    assert not (alone.folder / "brim.db").exists()


def test_a_file_that_is_opened_twice_gets_another_name(workspace, tmp_path):
    path = traces.write(tmp_path / "log.jsonl", traces.openai_bodies())
    files = [opened(workspace, path) for _ in range(3)]
    assert [file.name for file in files] == ["log.jsonl", "log.jsonl (2)", "log.jsonl (3)"]
    assert sessions.sessions(workspace)["all"] == 3
    assert sessions.sessions(workspace, file="log.jsonl (2)")["found"] == 1


def test_words_are_found_over_all_sources(workspace, tmp_path):
    opened(workspace, traces.write(tmp_path / "a.jsonl", traces.anthropic_bodies()))
    opened(workspace, traces.write(tmp_path / "b.jsonl", traces.openai_bodies()))
    found = search.search(workspace, "class window")["found"]
    assert [(hit["session"], hit["step"]) for hit in found] == [("b.jsonl:1", 2)]  # The same text is listed once.
    assert search.search(workspace, "absent words")["found"] == []
    assert sessions.sessions(workspace, text="claude")["found"] == 1


def test_a_file_that_a_receipt_names_as_its_meter_is_not_opened(workspace, tmp_path):
    (tmp_path / "own.json").write_text("{}")
    receipt = brim.fit([brim.Section("plan", "Do it. " * 99)], budget=50, model="gpt-5", capture=True).receipt.to_dict()
    receipt["capture"] |= {"meter": str(tmp_path / "own.json"), "model": None}
    path = tmp_path / "receipt.json"
    path.write_text(json.dumps(receipt))
    session = opened(workspace, path).sessions[0]
    assert prompt.prompt(workspace, session)["rows"][0]["text"].startswith("Do it.")
    assert lab_source.opened(workspace, f"prompt:{session}@1").fit(40).receipt.used <= 40
