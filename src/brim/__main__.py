"""`python -m brim` is the command `brim`."""

from brim.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
