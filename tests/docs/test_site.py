"""The docs are consistent: every page is in the nav, every link, anchor and picture exists."""

import ast
import re

import pytest
import yaml

from checkout import ROOT, script

DOCS = ROOT / "docs"
site = script("site")

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_TARGET = re.compile(r"(!?)\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HTML = re.compile(r"<(?:img|source|a)\b[^>]*\b(?:src|srcset|href)=\"([^\"]+)\"")


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, whose tags for Python are passed over."""


def nav():
    return yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)["nav"]


def prose(path):
    """Return a page without what stands in its code blocks."""
    return _FENCE.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """Return what a link to a part of a page may name, as the site makes it of headings."""
    found = set(re.findall(r"<[^>]+\bid=\"([^\"]+)\"", prose(path)))
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(path), flags=re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]+)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        again = next(n for n in range(1000) if (f"{slug}_{n}" if n else slug) not in found)
        found.add(f"{slug}_{again}" if again else slug)
    return found


def links(path):
    text = prose(path)
    text = re.sub(r"`[^`\n]*`", lambda code: "" if "](" in code[0] else code[0], text)
    return [target for _, target in _TARGET.findall(text)] + _HTML.findall(text)


def broken(path):
    """Return the links of a page that lead nowhere in the repository."""
    wrong = []
    for link in links(path):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        if not target.exists():
            wrong.append(f"{path.relative_to(ROOT)}: {link} is not there")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{path.relative_to(ROOT)}: {link} has no such heading")
    return wrong


def test_every_page_is_in_the_nav_once_and_every_entry_is_a_page():
    listed = list(site.pages(nav()))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.parent.name != "runs"}
    assert sorted(listed) == sorted(there)


PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def test_every_link_anchor_and_picture_of_a_page_exists():
    assert [link for path in PAGES for link in broken(path)] == []


def test_a_broken_link_is_seen(tmp_path, monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / "other.md").write_text("# One thing\n\n## `brim.yaml` and more\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](none.md) [c](other.md#one-thing) [d](other.md#brimyaml-and-more) [e](other.md#none)\n"
        "![p](p.svg)\n```\n[f](nowhere.md)\n```\n[g](#here)\n"
    )
    assert [each.partition(": ")[2] for each in broken(page)] == [
        "none.md is not there",
        "other.md#none has no such heading",
        "p.svg is not there",
        "#here has no such heading",
    ]


def test_the_site_shows_links_that_leave_the_docs_as_text():
    shown = site.shown(
        "See [the example](../examples/forge/README.md) and [loops](loops.md#a) and [it](design/).", "x.md"
    )
    assert shown == "See the example and [loops](loops.md#a) and [it](design/index.md)."


def test_a_page_that_loads_from_another_host_is_refused():
    class Page:
        class file:  # noqa: N801
            src_uri = "index.md"

    assert site.on_post_page('<a href="https://example.org">x</a><script src="a.js"></script>', Page)
    with pytest.raises(ValueError, match="another host"):
        site.on_post_page('<script async src="https://cdn.example.org/a.js"></script>', Page)


@pytest.mark.parametrize("name", ["api_reference", "config_reference"])
def test_a_generated_page_is_what_its_script_writes(name):
    reference = script(name)
    told = f"python scripts/{name}.py writes it"
    assert reference.PAGE.read_text(encoding="utf-8") == reference.page(), told


def test_no_page_loads_or_names_a_typeface_or_script_of_another_host():
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), _Loader)
    assert config["theme"]["font"] is False
    assert "http" not in (DOCS / "assets" / "extra.css").read_text(encoding="utf-8")


def missing(path, targets):
    """Return the files and the targets of make that a page names and that do not exist."""
    text = path.read_text(encoding="utf-8")
    files = set(re.findall(r"`((?:tests|scripts|bench|examples|docs|src)/[\w./-]*\w)", text))
    named = set(re.findall(r"(?:`|^(?:    )?)make ([a-z-]+)(?=`|$| +#| [A-Z]+=)", text, flags=re.MULTILINE))
    wrong = [name for name in files if not (ROOT / name).exists()]
    return [f"{path.name}: {name}" for name in sorted({*wrong, *(f"make {name}" for name in named - targets)})]


def test_every_file_and_target_that_a_page_names_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert [name for path in PAGES for name in missing(path, targets)] == []


def test_every_target_of_make_is_run_by_ci_or_has_a_reason_why_not():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[1].split())
    commands = re.findall(r"\bmake ((?:[a-z-]+(?![\w/.-]) ?)+)", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    named = set(" ".join(commands).split())
    first = [re.findall(rf"^{target}: (.+)$", makefile, flags=re.MULTILINE) for target in named]
    run = named | targets.intersection(" ".join(each for found in first for each in found).split())
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Make targets")[2]
    reasons = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (`.*?) \|", told, flags=re.MULTILINE))))
    assert named <= targets
    assert targets - run - reasons == set()
    assert reasons & run == set()


def test_a_file_or_target_that_does_not_exist_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`src/brim/__init__.py`, `src/brim/nowhere.py`, `make test` and `make nothing`\n")
    assert missing(page, {"test"}) == ["page.md: make nothing", "page.md: src/brim/nowhere.py"]


def test_code_of_other_libraries_is_marked_as_not_run_and_compiles():
    for path in sorted((DOCS / "migrate").glob("*.md")):
        shown = re.findall(r"(.*)\n\n```py\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert shown, path
        for before, code in shown:
            assert "not run by our tests" in before.splitlines()[-1], path
            compile(code, str(path), "exec")


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "integrations").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_a_framework_neither_hides_the_package_nor_asserts_what_a_model_says(page):
    code = ast.parse("\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M)))
    stored = {each.id for each in ast.walk(code) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    assert "brim" not in stored
    asserts = [ast.unparse(each) for each in ast.walk(code) if isinstance(each, ast.Assert)]
    assert [each for each in asserts if "Well done" in each] == []
