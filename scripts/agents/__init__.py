"""Real agent programs against strict upstreams, direct and through brim: `python -m scripts.agents --help`."""
