"""What came again is shown once, the newest; what was done again stays with how it ended each time."""

import brim
from brim.history.repeats import SAME_RESULT
from talk import answer, calling, gives, model, result, says, text, use, user

METER = brim.meter("o200k_base")
REMINDER = "Please always give exactly one action in triple backticks, as the first message says. " * 2


def fit(messages, share, **options):
    budget = int(METER.count_messages(messages) * share)
    fitted = brim.fit_messages(messages, budget, meter=METER, **options)
    assert fitted.used <= budget
    return fitted


def test_a_reminder_at_every_step_is_there_once():
    """77 copies of one reminder stayed, and the results became dots."""
    messages = [user("task")]
    for i in range(77):
        messages += [calling(f"c{i}", text=f"Step {i}: I go on."), result(f"c{i}", f"line {i}\n" * 30), user(REMINDER)]
    messages.append(model("So it is."))
    sent = str(fit(messages, 0.5).messages)
    assert sent.count("exactly one action") == 2  # One reminder says it twice.
    assert [i for i in range(77) if f"Step {i}: I go on." not in sent] == []


def test_a_reminder_beside_results_is_there_once():
    messages = [user("task")]
    for i in range(20):
        messages += [says(use(f"c{i}")), gives(answer(f"c{i}", f"line {i}\n" * 60), text(REMINDER))]
    sent = str(fit(messages, 0.5, format="anthropic").messages)
    assert sent.count("exactly one action") == 2
    assert "[the same text again later]" in sent


def test_an_identical_result_is_shown_where_it_came_last():
    listing = "\n".join(f"berth_{i}.txt" for i in range(60))
    messages = [user("task")]
    for i in range(8):
        messages += [calling(f"c{i}", arguments=f'{{"step": {i}}}'), result(f"c{i}", listing)]
    fitted = fit(messages, 0.6)
    outputs = [message["content"] for message in fitted.messages if message["role"] == "tool"]
    assert outputs == [SAME_RESULT] * 7 + [listing]


def test_a_run_that_ended_otherwise_each_time_keeps_each_ending():
    messages = [user("task")]
    for i in range(12):
        log = f"collecting {i}\n" * 40 + (f"{i} failed, 30 passed" if i < 11 else "31 passed")
        messages += [calling(f"c{i}", arguments='{"command": "pytest"}'), result(f"c{i}", log)]
    sent = str(fit(messages, 0.3).messages)
    assert [i for i in range(11) if f"{i} failed, 30 passed" not in sent] == []
    assert "31 passed" in sent
