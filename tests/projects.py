"""Settings written to real files, and loaded as a program would."""

import textwrap

import pytest

import brim


@pytest.fixture
def project(tmp_path):
    """Return what writes files below one directory and loads its settings, without the user's own."""

    def load(text=None, /, environ=None, flags=None, **files):
        if text is None:
            (tmp_path / "brim.yaml").unlink(missing_ok=True)
        else:
            (tmp_path / "brim.yaml").write_text(textwrap.dedent(text))
        for name, content in files.items():
            path = tmp_path / name.replace("__", "/")
            path = path.with_name(path.name + ".yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content))
        trusted = {"BRIM_TRUST": str(tmp_path)}
        return brim.load_config(tmp_path, environ={**trusted, **(environ or {})}, flags=flags)

    load.root = tmp_path
    return load
