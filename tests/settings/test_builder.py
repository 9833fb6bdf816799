"""From YAML to the prompt: what settings make."""

import pytest

import brim

ENGLISH = "The build was green and the tests ran for a while. "
CHINESE = "我们需要检查所有的测试用例并修复问题。"


def steps(number, text=ENGLISH * 20):
    task = {"role": "user", "content": "Ship it."}
    made = [{"role": "assistant", "name": "fixer", "content": f"{i} {text}"} for i in range(number)]
    return [task, *made, {"role": "user", "content": "Go on."}]


@pytest.mark.requirement("C1")
def test_a_budget_in_characters_still_honours_the_window_in_tokens(project):
    """200,000 Chinese characters are 278,260 tokens."""
    text = "model: gpt-5\nwindow: {size: 20000}\nbudgets: {context_budget_chars: 60000}\n"
    settings = project(text).resolve()
    meter = brim.meter("gpt-5")
    history = steps(200, CHINESE * 40)
    fitted = settings.fit_messages(history)
    tokens = meter.count_messages(fitted.messages)
    assert 0.8 * 20_000 < tokens <= 20_000
    roomy = project(text.replace("20000", "400000", 1)).resolve().fit_messages(history)
    assert roomy.budget == 60_000
    assert meter.count_messages(roomy.messages) > 20_000
    prompt = project("meter: chars\n" + text).resolve().fit({"log": CHINESE * 3_000})
    assert 0.8 * 20_000 < meter.count(prompt.text) <= 20_000


def test_tools_and_a_system_prompt_are_in_the_window_too(project):
    settings = project("model: gpt-5\nwindow: {size: 3000}\nbudgets: {preset: lean}\n").resolve()
    tool = {"type": "function", "function": {"name": "run", "description": ENGLISH * 50, "parameters": {}}}
    told = {"tools": [tool], "system": ENGLISH * 50}
    fitted = settings.fit_messages(steps(100), **told)
    whole = [{"role": "system", "content": told["system"]}, *fitted.messages]
    assert brim.meter("gpt-5").count_messages(whole, told["tools"]) <= 3_000


def test_without_budgets_a_history_has_the_window(project):
    fitted = project("model: gpt-5\nwindow: {size: 5000, reserve: 1000}\n").resolve().fit_messages(steps(100))
    assert fitted.budget == 4_000
    assert fitted.receipt.unit == "tokens"
    assert project("model: gpt-5\n").resolve().fit_messages(steps(3)).budget == brim.Window.of("gpt-5").budget


@pytest.mark.parametrize(
    ("model", "size"),
    [("gpt-5", 16_384), ("as-large", 16_384), ("gpt-4", 8_192), ("input-only", 6_000), ("window-only", 7_000)],
)
def test_the_window_of_a_profile_is_limited_to_that_of_the_model(project, monkeypatch, caplog, model, size):
    (project.root / "brim.models.yaml").write_text(
        "models: {input-only: {max_input: 6000}, window-only: {window: 7000}, as-large: {window: 16384}}\n"
    )
    monkeypatch.chdir(project.root)
    settings = project(f"model: {model}\nunknown_model: chars/4\n").resolve(profile="forge")
    assert settings.window().size == size
    assert bool(settings.warnings) == ("window.size of 16,384 is more than" in caplog.text) == (size < 16_384)
    own = project(f"model: {model}\nunknown_model: chars/4\nwindow: {{size: 20000}}\n").resolve()
    assert own.window().size == 20_000, "someone chose it for this server"


def test_what_is_asked_stands_in_for_the_settings(project):
    settings = project("meter: chars\nbudgets: {context_budget_chars: 40000}\n").resolve()
    assert settings.fit_messages(steps(100), budget=5_000).budget == 5_000
    assert settings.fit_messages(steps(100), meter="o200k_base", budget=900).receipt.unit == "tokens"
    assert settings.fit_messages(steps(100), model="gpt-5").budget == brim.Window.of("gpt-5").budget
    assert settings.fit({"a": ENGLISH * 100}, budget=100).receipt.budget == 100
    assert settings.fit({"a": "x", "b": "y"}, separator="-").text == "x-y"


def test_a_stable_history_with_another_selection_is_refused_by_its_line(project):
    text = "history:\n  stable: true\n  selection: priority\n"
    with pytest.raises(brim.SourceError, match="brim.yaml:3: history.selection: select must be 'recency' in stable"):
        project(text).resolve().fit_messages(steps(3))
