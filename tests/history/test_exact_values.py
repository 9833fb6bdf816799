"""Exact values that people state by a key: messages with such values stay before long ones without any."""

import pytest

import brim
from brim.history.names import values_in

PROSE = "It was a long day in the archive, and nothing of it matters for the work that is to be done. " * 30


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("port=8443; host = db-7.internal", [("port", "8443"), ("host", "db-7.internal")]),
        ('{"checksum": "9f3a77c1", "ok": true}', [("checksum", "9f3a77c1")]),
        ("route-a-1->route-target-81fe", [("route-a-1", "route-target-81fe")]),
        ("Note: this is only prose, and so is that: nothing", []),
        ("work-item-3:DONE|receipt=r-55|next=n-9", [("work-item-3", "DONE|receipt=r-55|next=n-9")]),
    ],
)
def test_the_values_of_a_text(text, values):
    assert list(values_in(text)) == values


def test_old_values_stay_and_long_prose_without_any_goes():
    """A summary would lose the values; they are kept as they were said."""
    history = [{"role": "user", "content": "We set up a cluster."}]
    for at in range(12):
        values = "; ".join(f"node-{at}-{n}=10.0.{at}.{n}" for n in range(20))
        for text in (f"Settings of rack {at}: {values}.", f"{at} {PROSE}"):
            history += [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
    history.append({"role": "user", "content": "What is the address of node-2-7?"})
    fitted = brim.fit_messages(history, 6_000, meter="o200k_base")
    shown = fitted.text
    assert all(f"node-{at}-{n}=10.0.{at}.{n}" in shown for at in range(12) for n in range(20))
    assert fitted.used <= 6_000


def test_of_two_statements_the_correction_stays():
    history = [{"role": "user", "content": "Deploy it."}]
    for word in ("draft", "final"):
        for at in range(10):
            values = "; ".join(f"field-{at}-{n}={word}-{at}{n}" for n in range(30))
            history += [{"role": "user", "content": values}, {"role": "assistant", "content": "Noted."}]
    history.append({"role": "user", "content": "Go on."})
    whole = brim.meter("o200k_base").count_messages(history)
    shown = brim.fit_messages(history, int(whole * 0.6), meter="o200k_base").text
    assert all(f"field-{at}-{n}=final-{at}{n}" in shown for at in range(10) for n in range(30))
