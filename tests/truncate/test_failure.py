"""The lines of a text that report a failure: which they are, and that `keep="shape"` does not lose the only one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.truncate.failure import reports_failure
from brim.truncate.json_parts import json_parts
from brim.truncate.parts import TextParts
from brim.truncate.shape import Shape, kind_of
from properties import examples
from truncate.cutting import EXACT, checked, every_meter, shares

FAILURES = [
    "ERROR disk full",
    "ValueError: no such thing",
    "java.lang.NullPointerException: x",
    "Traceback (most recent call last):",
    "thread 'main' panicked at src/main.rs:4",
    "FATAL out of memory",
    "3 errors, 2 tests failed",
    "10 errors",
    "a failure was seen",
    "E       assert 4 == 5",
    "npm ERR! code ELIFECYCLE",
    "src/app.c:12:5: error: expected ';'",
    "error[E0308]: mismatched types",
    "main.o: undefined reference to `start'",
    "bash: foo: command not found",
    "ls: cannot access 'x': No such file or directory",
    "connect: connection refused",
    "mkdir: x: Permission denied",
    "the request timed out",
    "Segmentation fault (core dumped)",
    "make: *** [all] Error 2",
    "process ended with exit code 137",
    '10.0.0.1 "GET /api HTTP/1.1" 502 17',
    '{"level": "error", "msg": "disk"}',
    "not ok 12 - reads the file",
    "✗ reads the file",
    "写入失败",
]
CALM = [
    "0 errors, 0 failed",
    "no errors were found",
    "finished without errors",
    "errors: 0",
    '"error": null,',
    "failed=0",
    "-rw-r--r-- 1 root 812 src/errors.py",
    "src/error/handler.go",
    "errors.py 812 bytes",
    "Error.go",
    "lib/UserError.rb",
    "failover is on",
    "errorless run",
    "a hall of mirrors",
    "panicle",
    '10.0.0.1 "GET /api HTTP/1.1" 200 502',
    "exit code 0",
    "Error: (none)",
    "Warning: deprecated",
    "denial",
]


@pytest.mark.parametrize("line", FAILURES)
def test_a_line_that_reports_a_failure_is_found(line):
    text = f"all is well\n{line}\nall is well"
    assert TextParts(text).failures() == [1]
    assert reports_failure(text)


@pytest.mark.parametrize("line", CALM)
def test_a_line_that_reports_none_is_not(line):
    text = f"all is well\n{line}\nall is well"
    assert TextParts(text).failures() == []
    assert not reports_failure(text)


def test_code_that_handles_errors_reports_none():
    lines = ["raise ValueError(x)", "except KeyError:", "log.error('no')", "throw new Error('x');", "class BadError {"]
    parts = TextParts("\n".join([*lines, "error: cannot find the crate"]))
    assert parts.failures(code=True) == [5]


@pytest.mark.parametrize(
    "line", ["14:13 ERROR order 44143: timed out (attempt 4)", "[2026-11-17T10:00:01Z] FATAL x (y)"]
)
def test_a_line_of_a_log_with_its_level_is_no_code_however_it_ends(line):
    assert TextParts(f"def f():\n{line}\nraise ValueError(x)").failures(code=True) == [1]


def numbered(form):
    return lambda i: form.format(i=i, m=i % 60, n=i * 37 % 997)


KINDS = {
    "log with hours and minutes": ([], numbered("{i:02}:{m:02} worker {n} took a job"), []),
    "log with dates": ([], numbered("2026-05-01T10:{m:02}:00Z [info] step {n}"), []),
    "log without times": ([], numbered("worker {n} took job {i}"), []),
    "pytest": (
        ["=" * 20 + " test session starts " + "=" * 20, "platform linux -- Python 3.11.7", "collected 90 items", ""],
        numbered("tests/test_{n}.py::test_{i} PASSED [{m:3}%]"),
        ["", "=" * 20 + " 90 passed in 1.02s " + "=" * 20],
    ),
    "pytest with code": (
        ["=" * 20 + " FAILURES " + "=" * 20, "____ test_one ____", "", "    def test_one():"],
        numbered("        value_{i} = compute({n})"),
        ["", "tests/test_one.py:12: in test_one"],
    ),
    "build": (["cmake -S . -B build", ""], numbered("[{m:2}%] Building CXX object src/part_{n}.cpp.o"), ["make: done"]),
    "cargo": ([], numbered("   Compiling crate_{n} v0.{m}.{i}"), ["    Finished dev profile"]),
    "stack trace": ([], numbered("\tat com.acme.Part{n}.run(Part{n}.java:{m})"), ["\t... 12 more"]),
    "python frames": ([], lambda i: f'  File "/srv/app/part_{i}.py", line {i}, in run\n    step_{i}()', []),
    "psql table": ([" id | name", "----+------"], numbered(" {i} | name {n}"), ["(90 rows)"]),
    "framed table": (["+----+------+", "| id | name |", "+----+------+"], numbered("| {i} | {n} |"), ["+----+------+"]),
    "markdown table": (["# Rows", "", "| id | name |", "|---|---|"], numbered("| {i} | {n} |"), ["", "That is all."]),
    "csv": (["id,name,amount"], numbered("{i},name {n},{m}"), []),
    "diff": (
        ["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,900 +1,900 @@"],
        numbered(" line {i} stays {n}"),
        [],
    ),
    "ls": (["total 812"], numbered("-rw-r--r-- 1 root root {n} May  1 10:{m:02} part_{i}.txt"), []),
    "find": ([], numbered("./src/part_{n}/module_{i}.py"), []),
    "html": (["<html><body><ul>"], numbered('<li class="row">item {n} of {i}</li>'), ["</ul></body></html>"]),
    "html with script": (["<html><script>"], numbered("  var x{i} = {n};"), ["</script></html>"]),
    "markdown": (["# Title", "", "```", "code", "```", ""], numbered("Paragraph {i} says {n}.\n"), []),
    "fenced log": (["# Title", "", "```"], numbered("worker {n} took job {i}"), ["```", "", "That is all."]),
    "javascript": ([], numbered("function f{i}() {{\n  return {n};\n}}"), []),
    "json lines": ([], lambda i: json.dumps({"id": i, "job": f"job {i * 37 % 997}"}), []),
    "prose": ([], numbered("Some words of text, and {n} more of them."), []),
}
REPORTS = [*FAILURES[:6], *FAILURES[9:16], "a line with an error in it " + "and many more words " * 12]


def text_with(kind, before, after, report):
    head, line, tail = KINDS[kind]
    report = report.replace("E       assert 4", "assert 4 failed") if kind in ("json lines", "diff") else report
    if kind == "json lines":
        report = json.dumps({"id": 0, "text": report})
    if kind == "diff":
        report = "+" + report
    lines = [*head, *map(line, range(before)), report, *map(line, range(before, before + after)), *tail]
    return "\n".join(lines) + "\n", report


@every_meter
@pytest.mark.parametrize("kind", KINDS)
@examples(10)
@given(lines=st.tuples(st.integers(0, 90), st.integers(0, 90)), report=st.sampled_from(REPORTS), share=shares)
def test_the_only_line_with_an_error_is_never_lost(meter, kind, lines, report, share):
    text, report = text_with(kind, *lines, report)
    parts = json_parts(text) or TextParts(text)
    least, most = meter.count(parts.show([parts.part_at(text.index(report))])), meter.count(text) - 1
    if least > most:
        return
    cut = checked(Shape(), text, least + int((most - least) * share), meter)
    assert cut is not None
    assert report in cut.text.split("\n")


@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_stay_with_the_error(kind):
    text, report = text_with(kind, 60, 60, "ERROR disk full")
    lines = [line for line in text.split("\n") if line]
    cut = Shape().truncate(text, EXACT.count(text) // 3, EXACT).text.split("\n")
    assert report in cut
    assert lines[0] in cut
    if kind_of(text) not in ("code", "diff", "markdown"):  # Bodies lose their end first, and documents.
        assert lines[-1] in cut


@pytest.mark.parametrize(
    "text",
    [
        "10:01 started\n10:02 going on\n10:03 done\n",
        "Traceback (most recent call last):\n  File 'a.py', line 1\n    import x\nKeyError: 1\n",
        "=== test session starts ===\ndef test_x():\n    assert f(1)\nE   assert 1\n",
        "panic: no\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:3\n",
        "Exception in thread main\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n",
        "src/a.c: In function 'f':\nsrc/a.c:1:2: error: no\n  1 | int f() {\nsrc/a.c:3:2: warning: no\n",
    ],
)
def test_the_output_of_programs_is_a_log(text):
    assert kind_of(text) == "log"
