"""S3: a long-running assistant. Sessions, compaction and loops come later; here are its window, warning and budgets."""

import pytest

import brim


def settings(tmp_path, text="profile: session\n", **asked):
    (tmp_path / "brim.yaml").write_text(text)
    return brim.load_config(tmp_path, environ={}).resolve(**asked)


@pytest.mark.requirement("S3.1")
def test_the_profile_caps_a_million_tokens_at_a_fifth_and_warns_before(tmp_path):
    window = settings(tmp_path).window()
    assert (window.size, window.budget, window.warning) == (1_000_000, 200_000, 150_000)


@pytest.mark.requirement("S3.1")
def test_the_window_may_come_from_the_model(tmp_path):
    text = "profile: mine\nprofiles: {mine: {extends: session, model: gpt-4o, window: {size: null}}}\n"
    window = settings(tmp_path, text).window()
    assert (window.budget, window.warning) == (25_600, 19_200)


@pytest.mark.requirement("S3.1")
@pytest.mark.parametrize(
    ("warn", "cap", "good"),
    [
        ("15%", "20%", True),
        ("20%", "20%", True),
        ("100%", "100%", True),
        ("25%", "20%", False),
        ("0%", "20%", False),
        ("15%", "101%", False),
        ("-1%", "20%", False),
    ],
)
def test_the_warning_is_above_nothing_and_at_most_the_cap_which_is_at_most_all(tmp_path, warn, cap, good):
    text = f'window: {{size: 1000, cap: "{cap}", warn: "{warn}"}}\n'
    if good:
        assert settings(tmp_path, text).window().warning > 0
        return
    with pytest.raises(brim.SourceError, match=r"brim\.yaml:1"):
        settings(tmp_path, text).window()


@pytest.mark.requirement("S3.13")
@pytest.mark.parametrize("limit", [50_000, 20_000])
def test_the_memory_context_has_its_own_budget_which_can_be_set(tmp_path, limit):
    text = f"profile: mine\nmeter: chars/4\nprofiles: {{mine: {{extends: session, sections: {{memory: {{ceiling: {limit}}}}}}}}}\n"
    facts = [f"fact {i} " + "is known to many. " * 50 for i in range(400)]
    part = settings(tmp_path, text).fit({"system": "Help.", "memory": facts}).receipt.part("memory")
    assert limit - 300 < part.used <= limit


@pytest.mark.requirement("S3.12")
def test_working_memory_has_seventy_five_lines(tmp_path):
    lines = [f"line {i}" for i in range(200)]
    kept = settings(tmp_path).fit({"working_memory": lines}).text.split("\n")
    assert kept == lines[-75:]


@pytest.mark.requirement("S3.1")
def test_a_thread_is_held_to_the_cap_and_not_to_the_window(tmp_path):
    text = "profile: mine\nmeter: chars\nprofiles: {mine: {extends: session, window: {size: 10000}}}\n"
    thread = [{"role": "user", "content": "Read the logs."}]
    thread += [{"role": role, "content": "a line. " * 60} for _ in range(9) for role in ("assistant", "user")]
    fitted = settings(tmp_path, text).fit_messages(thread)
    assert fitted.budget == 2_000
    assert 1_500 < fitted.used <= 2_000
    assert fitted.messages[-1] is thread[-1]
    assert fitted.messages[0] is thread[0]
