"""What `select` keeps: every combination of ways, the default query in every format, and the class of a turn."""

import pytest

import brim
from brim.errors import InvalidValue
from talk import answer, calling, gives, item_call, item_output, model, result, says, text, use, user

CHARS = "chars"
WAYS = ("recency", "relevance", "priority")
SAYS = "{word} in the step {i:02}: " + "nothing else of interest. " * 3


def step(i, word="calm"):
    return model(SAYS.format(i=i, word=word))


def steps():
    """Return steps of equal size: the third names the disk, the fifth is a decision, the last ones are the newest."""
    words = {2: "disk", 4: "decision"}
    return [user("Go."), *[step(i, words.get(i, "calm")) for i in range(10)], user("What about the disk?")]


def kept(messages, budget, **options):
    fitted = brim.fit_messages(messages, budget, meter=CHARS, note=False, excerpts=False, **options)
    return [
        message["content"].split(" in the step ")[1][:2]
        for message in fitted.messages
        if " in the step " in str(message)
    ]


SIZE = len(step(0)["content"])
ENDS = len("Go.") + len("What about the disk?")


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("recency", ["06", "07", "08", "09"]),
        ("relevance", ["00", "01", "02", "03"]),
        ("priority", ["04", "07", "08", "09"]),
        ("recency+relevance", ["01", "02", "08", "09"]),
        ("relevance+recency", ["01", "02", "08", "09"]),
        ("recency+priority", ["04", "07", "08", "09"]),
        ("relevance+priority", ["01", "02", "04", "09"]),
        ("priority+recency", ["04", "07", "08", "09"]),
        ("priority+relevance", ["01", "02", "03", "04"]),
    ],
)
def test_each_way_and_each_pair_keeps_what_it_says(select, expected):
    assert kept(steps(), ENDS + 4 * SIZE + 60, select=select) == expected


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
@pytest.mark.parametrize("third", WAYS)
def test_any_other_combination_is_a_clear_error(first, second, third):
    with pytest.raises(InvalidValue, match="one way, or two different ones joined by a plus sign"):
        brim.fit_messages([user()], 100, meter=CHARS, select=f"{first}+{second}+{third}")


@pytest.mark.parametrize("second", ["recency", "relevance"])
def test_within_and_another_order_of_a_class_contradict_each_other(second):
    with pytest.raises(InvalidValue, match=f"'newest_first' with a selection that orders a class by {second}"):
        brim.fit_messages([user()], 100, meter=CHARS, select=f"priority+{second}", within="oldest_first")


def openai(question):
    made = [user(question)]
    for i in range(12):
        made += [calling(f"c{i}"), result(f"c{i}", OUTPUTS[i])]
    return made


def anthropic(question):
    made = [user(question)]
    for i in range(12):
        made += [says(use(f"c{i}")), gives(answer(f"c{i}", OUTPUTS[i]))]
    return made


def responses(question):
    made = [{"type": "message", "role": "user", "content": question}]
    for i in range(12):
        made += [item_call(f"c{i}"), item_output(f"c{i}", OUTPUTS[i])]
    return made


OUTPUTS = [f"pump {i} is calm and does nothing of interest " * 4 for i in range(12)]
OUTPUTS[3] = "the disk of the turbine is worn and has to be replaced " * 3
OUTPUTS[8] = "zebras graze in the meadow behind the mill every day " * 3
OUTPUTS[11] = "zebras graze in the meadow " * 3


@pytest.mark.parametrize("of", [openai, anthropic, responses])
@pytest.mark.parametrize("mixed", [False, True])
def test_the_default_query_is_what_the_person_said_last(of, mixed):
    messages = of("Is the turbine worn?" if not mixed else "Go.")
    if mixed and of is anthropic:
        messages[14]["content"].append(text("Is the turbine worn?"))
    elif mixed:
        messages.insert(15, {**messages[0], "content": "Is the turbine worn?"})
    shown = str(brim.fit_messages(messages, 700, meter=CHARS, select="relevance", note=False, excerpts=False).messages)
    assert "the disk of the turbine" in shown
    assert OUTPUTS[8] not in shown


@pytest.mark.parametrize("query", [None, "Does the quokka nibble eucalyptus beside the turbine?"])
def test_the_query_does_not_match_itself(query):
    """What stands next to the question is no answer to it, and words that only the question has find nothing."""
    made = [user("Go."), *[step(i, "turbine" if i == 2 else "calm") for i in range(10)]]
    made += [user("Does the quokka nibble eucalyptus beside the turbine?"), step(10), step(11), step(12), step(13)]
    budget = sum(len(message["content"]) for message in (made[0], made[11])) + 4 * SIZE + 20
    assert kept(made, budget, select="relevance", query=query) == ["01", "02", "03", "13"]


def turn(i, path):
    return [
        calling(f"c{i}", arguments=f'{{"path": "{path}"}}'),
        result(f"c{i}", f"{path}\nsrc/history\nhistory\n" + "def f(): pass\n" * 4),
        model(f"I read {path}, see `src/brim/history` and the file history.md there. " + "It does nothing. " * 3),
    ]


@pytest.mark.parametrize(
    "path", ["src/history/turns.py", "history.md", "docs/summary.txt", "my-history", "old_history"]
)
def test_the_name_of_a_file_does_not_decide_the_class_of_a_turn(path):
    messages = [user(), *turn(0, path), *turn(1, path), user("end")]
    fitted = brim.fit_messages(messages, 500, meter=CHARS, select="priority")
    classes = fitted.receipt.history["context_truncation"]["priority_distribution"]
    assert classes == {"CRITICAL": 0, "HIGH": 0, "MEDIUM": classes["MEDIUM"], "LOW": 0}
    assert classes["MEDIUM"] > 2


def test_the_author_of_a_message_is_looked_for_in_the_query():
    """The name of an author stands beside the content in some formats, and in others at its start."""
    said = [
        {"role": "user", "name": name, "content": f"{i:02} we like tea, ann and ben"}
        for i, name in enumerate(["ann", "ben"] * 9)
    ]
    for name, rest in (("ann", 0), ("ben", 1)):
        fitted = brim.fit_messages(
            [user("Go."), *said, user("Well?")],
            150,
            meter=CHARS,
            note=False,
            select="relevance",
            query=f"What does {name} like?",
        )
        kept = [message for message in fitted.messages if "tea" in message["content"]]
        assert len(kept) > 3
        assert {int(message["content"][:2]) % 2 for message in kept} == {rest}
