"""A gateway in a process of its own, with a record of its log and its telemetry."""

import json
import os
import subprocess
import sys
import time
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
        # A pipe that nobody reads would be full after some hundred lines, and the gateway would wait for its reader.
        printed = self.folder / "stdout"
        with printed.open("w") as output, (self.folder / "stderr").open("w") as errors:
            self.process = subprocess.Popen(run, cwd=folder, env=told, stdout=output, stderr=errors)
        while "\n" not in (said := printed.read_text()):
            assert self.process.poll() is None, (self.folder / "stderr").read_text()
            time.sleep(0.02)
        self.url = json.loads(said.partition("\n")[0])["address"].removesuffix("/v1")

    def end(self, how="terminate"):
        """End the process if it runs."""
        if self.process.returncode is None:
            getattr(self.process, how)()
            self.process.wait(10)
