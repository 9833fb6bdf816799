"""A gateway in a process of its own, with a record of its log and its telemetry."""

import json
import os
import subprocess
import sys
from pathlib import Path

from model_server import ModelServer, say


class Leading(ModelServer):
    """A model server that repeats the request headers, if a header asks for it."""

    async def __call__(self, scope, receive, send):
        headers = {name.decode(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        if "x-repeat" in headers:
            while (await receive()).get("more_body"):
                pass
            told = {"error": {"message": f"Incorrect API key provided: {headers}", "code": "invalid_api_key"}}
            await say(send, int(headers["x-repeat"]), told, [(b"x-debug", str(headers).encode()[:900])])
        else:
            await super().__call__(scope, receive, send)


class Watched:
    """A gateway process, and the files that it wrote."""

    def __init__(self, folder, upstream, *options, **environ):
        self.folder = Path(folder)
        run = [sys.executable, str(Path(__file__).with_name("watching.py")), str(folder), "gateway", "--port", "0"]
        run += ["--json", "--upstream", f"{upstream}/v1", *options]
        told = {**os.environ, "HOME": str(folder), "PYTHONFAULTHANDLER": "1", **environ}
        with (self.folder / "stderr").open("w") as errors:
            self.process = subprocess.Popen(run, cwd=folder, env=told, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.process.stdout.readline()
        assert line, (self.folder / "stderr").read_text()
        self.url = json.loads(line)["address"].removesuffix("/v1")

    def end(self, how="terminate"):
        """End the process if it runs, and keep its last output."""
        if self.process.stdout.closed:
            return
        getattr(self.process, how)()
        (self.folder / "stdout").write_text(self.process.stdout.read())
        self.process.wait(10)
        self.process.stdout.close()
