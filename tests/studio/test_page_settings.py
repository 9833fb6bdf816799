"""Settings in a real Chromium: a value changed, tried, removed and taken back. `make test-ui` runs this."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import brim
from studio.browser import tab

pytestmark = pytest.mark.ui


def config_show(folder, *place):
    """Return what the real command line says of the settings."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("BRIM_")}
    command = [sys.executable, "-m", "brim", "config", "show", "--json", "--config", str(folder), *place]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    return json.loads(done.stdout)["values"]


def history_of(folder, step):
    """Return what the next prompt of a step holds of a history that is too long for it."""
    from brim.flows.curator import Curator

    config = brim.load_config(folder)
    done = [{"step_id": f"s{i}", "agent": "worker", "output": f"finding {i}. " * 150} for i in range(40)]
    return Curator(config, flow="build").prepare(config.flow("build").step(step), done)


@pytest.mark.requirement("S2.22")
def test_an_override_made_in_the_page_is_in_the_file_in_config_show_and_in_the_next_prompt(chromium, own_demo):
    folder = own_demo.workspace.config
    path = Path(folder) / "flows" / "build.yaml"
    before = path.read_text(encoding="utf-8")
    place = ("--flow", "build", "--step", "review")
    assert config_show(folder, *place)["context_budget_chars"]["value"] == 12_000
    had = history_of(folder, "review").receipt
    with tab(chromium, own_demo) as at:
        at.go("settings", flow="build", step="review", key="context_budget_chars")
        form = at.page.locator(".keys form")
        form.locator("input").fill("15000")
        form.get_by_role("button", name="Show the change").click()
        at.page.wait_for_selector(".diff .plus")
        assert path.read_text(encoding="utf-8") == before
        at.page.get_by_role("button", name="Save").click()
        at.page.wait_for_selector("tr:has(code:text-is('context_budget_chars')) .badge.over >> text=step")

        after = path.read_text(encoding="utf-8")
        assert yaml.safe_load(after)["steps"][4]["budget_overrides"]["context_budget_chars"] == 15_000
        for comment in ("# needs the whole plan", "# the plan and the newest step are what counts"):
            assert comment in after
        shown = config_show(folder, *place)["context_budget_chars"]
        assert (shown["value"], shown["origin"], shown["override"]) == (15_000, "step", True)
        assert shown["over"]["value"] == 12_000
        now = history_of(folder, "review").receipt
        assert (had["budget_chars"], now["budget_chars"]) == (12_000, 15_000)
        assert had["used_chars"] + 2_000 < now["used_chars"]

        form.get_by_role("button", name="Remove", exact=True).click()
        at.page.wait_for_selector(".diff .minus")
        at.page.get_by_role("button", name="Save").click()
        at.page.wait_for_selector("tr:has(code:text-is('context_budget_chars')) .badge.over >> text=flow")
        assert path.read_text(encoding="utf-8") == before
        assert config_show(folder, *place)["context_budget_chars"]["value"] == 12_000
        assert history_of(folder, "review").receipt["used_chars"] == had["used_chars"]

        at.page.get_by_role("button", name="Undo (2)").click()
        at.page.wait_for_selector("text=Reverted")
        assert path.read_text(encoding="utf-8") == after
        at.page.get_by_role("button", name="Undo (1)").click()
        at.page.wait_for_selector("button:disabled >> text=Undo")
        assert path.read_text(encoding="utf-8") == before


def test_a_preset_replaces_the_budgets_of_its_layer(chromium, own_demo):
    folder = own_demo.workspace.config
    with tab(chromium, own_demo) as at:
        at.go("settings", flow="build", step="code", key="context_budget_chars")
        at.page.get_by_role("button", name="lean 100,000").click()
        at.page.wait_for_selector(".diff .plus")
        at.page.get_by_role("button", name="Save").click()
        at.page.wait_for_selector("button[aria-pressed=true] >> text=lean")
        values = config_show(folder, "--flow", "build", "--step", "code")
        assert [values[name]["value"] for name in ("context_budget_chars", "history_max_older_chars")] == [
            100_000,
            5_000,
        ]
        at.page.locator(".keys form").get_by_role("button", name="Remove the preset").click()
        at.page.wait_for_selector(".diff .minus")


def test_a_guardrail_warns_at_its_budget_and_before_it_is_saved(chromium, own_demo):
    with tab(chromium, own_demo) as at:
        at.go("settings", flow="deploy", key="context_budget_chars")
        at.page.wait_for_selector(".keys .guard >> text=lowered")
        at.go("settings", flow="build", step="test", key="context_budget_chars")
        form = at.page.locator(".keys form")
        form.locator("input").fill("700")
        form.get_by_role("button", name="Show the change").click()
        at.page.wait_for_selector(".diff .guard >> text=below minimum 10,000")
        at.page.get_by_role("button", name="Cancel").click()
        assert at.page.locator(".diff").count() == 0
