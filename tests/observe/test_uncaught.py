"""Errors that nobody catches are told by their type and place, and never by their text."""

import asyncio
import gc
import logging
import sys
import threading

from brim.cli import main
from brim.observe import uncaught

KEY = "sk-proj-4fQ9aZ7xT2bV8nR5mK1wL6yD3cH0jS"


def fails():
    raise ValueError(f"the name {KEY} is too long")


def test_a_thread_a_task_and_a_destructor_are_logged_without_the_text(caplog, capsys):
    class Closed:
        def __del__(self):
            fails()

    async def left():
        asyncio.get_running_loop().set_exception_handler(uncaught.log_loop_error)
        task = asyncio.create_task(asyncio.to_thread(fails))
        await asyncio.wait({task})
        del task
        gc.collect()
        asyncio.get_running_loop().call_exception_handler({"message": f"odd {KEY}"})

    before = threading.excepthook, sys.unraisablehook
    with caplog.at_level(logging.ERROR), uncaught.told_without_text():
        asyncio.run(left())
        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()
        Closed()
        gc.collect()
    assert (threading.excepthook, sys.unraisablehook) == before
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in told] == [
        "a task failed",
        "the event loop reports a problem without an error",
        "a thread failed",
        "a destructor failed",
    ]
    assert all("ValueError at fails:" in line for line in told if "failed" in line)
    assert KEY not in caplog.text + "".join(capsys.readouterr())


def test_an_error_of_brim_on_the_command_line_shows_its_place_and_not_its_text(monkeypatch, capsys):
    def wrong(*_, **__):
        try:
            fails()
        except ValueError as error:
            raise RuntimeError(KEY) from error

    monkeypatch.setattr("brim.cli.status.open_existing", wrong)
    assert main(["status", "--store", "sqlite:///none.db"]) == 2
    told = "".join(capsys.readouterr())
    assert KEY not in told
    assert "in fails" in told
    assert "ValueError (its text is not shown)" in told
    assert "RuntimeError (its text is not shown)" in told
    assert told.rstrip().endswith("brim: this is a bug in brim (RuntimeError); please report the lines above")
