"""Keys and prompts: in no answer, no error and no more of the store than documented."""

import pytest

from brim.cli import main
from gateway.conftest import asked, conversation, post
from store_file import readable

LONG = conversation(40)


@pytest.mark.parametrize("option", ["--upstream", "--store"])
def test_a_password_in_a_url_is_not_repeated(tmp_path, monkeypatch, capsys, option):
    monkeypatch.chdir(tmp_path)
    told = {"--upstream": "http://u:Tr0ub4d!@127.0.0.1:9/v1", "--store": "postgresql://u:Tr0ub4d!@127.0.0.1:9/x"}
    assert main(["gateway", "--check", "--upstream", "http://127.0.0.1:9/v1", option, told[option]])
    assert "Tr0ub4d!" not in "".join(capsys.readouterr())


def test_the_store_holds_no_dropped_text(gateway, upstream, tmp_path):
    url, _ = gateway(store=f"sqlite:///{tmp_path}/brim.db")
    said = conversation(60)
    nothing = "There was nothing to see. " * 30
    said[39] = {"role": "assistant", "content": f"{nothing}Its password is heliotrope. {nothing}"}
    assert post(url, asked(said))[0] == 200
    assert b"heliotrope" not in upstream.bodies[-1]
    held = readable(tmp_path / "brim.db")
    assert b"heliotrope" not in held
    assert b"why the build is slow" not in held


def test_a_truncated_message_is_stored_as_it_was_sent(gateway, upstream, tmp_path):
    url, _ = gateway(store=f"sqlite:///{tmp_path}/brim.db")
    said = [{"role": "user", "content": "The task: " + "find the heliotrope " * 400}, *conversation(6)[1:]]
    assert post(url, asked(said))[0] == 200
    assert b"heliotrope" in readable(tmp_path / "brim.db")
