"""`brim fit --profile`: the settings of a profile and of the project, for the sections of a file or for a request."""

import json

import pytest

PAGE = """\
sections:
  - {name: prompt, content: "Decide what to do."}
  - {name: social, content: [gossip one, gossip two, gossip three, gossip four, gossip five]}
  - {name: news, content: "a headline of today\\na headline of today\\n", priority: low}
  - {name: options, content: "1. stay 2. go"}
"""


@pytest.fixture
def page(here):
    (here / "page.yaml").write_text(PAGE)
    return here


@pytest.mark.requirement("X6")
def test_a_page_is_fitted_with_the_stages_of_the_profile(brim, page):
    told = brim("fit", "page.yaml", "--profile", "broker", "--budget", "28", "--meter", "chars/4", "--json")
    receipt = json.loads(told.out)["receipt"]
    text = json.loads(told.out)["text"]
    assert told.code == 0
    assert receipt["used"] <= 28
    assert "gossip five" in text
    assert "gossip one" not in text
    assert "1. stay 2. go" in text


def test_the_project_wins_over_the_shipped_profile_and_options_over_both(brim, page):
    (page / "brim.yaml").write_text("profile: broker\nprompt: {total: 8000}\n")

    def budget(*options):
        return json.loads(brim("fit", "page.yaml", *options, "--json").out)["receipt"]["budget"]

    assert budget("--profile", "broker") == 8_000
    assert budget("--config", ".") == 8_000
    assert budget("--config", ".", "--budget", "500") == 500
    (page / "brim.yaml").write_text("")
    assert budget("--profile", "broker") == 16_384


def test_a_request_is_fitted_with_the_history_settings_of_the_profile(brim, here):
    (here / "brim.yaml").write_text("profile: session\nwindow: {size: 10000}\nmeter: chars\n")
    messages = [{"role": "user", "content": "Read."}]
    messages += [{"role": role, "content": "line. " * 100} for _ in range(6) for role in ("assistant", "user")]
    (here / "request.json").write_text(json.dumps({"model": "gpt-5", "messages": messages}))
    told = brim("fit", "request.json", "--config", ".", "--json")
    values = json.loads(told.out)
    assert values["receipt"]["budget"] == 2_000
    assert values["request"]["messages"][0] == messages[0]
    assert 1_000 < values["receipt"]["used"] <= 2_000
    assert brim("fit", "request.json", "--profile", "nonsense").code == 2
