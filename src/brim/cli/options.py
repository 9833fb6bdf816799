"""The options that several commands share."""

from typing import Annotated

from typer import Option

Json = Annotated[bool, Option("--json", help="Print JSON.")]
Budget = Annotated[
    str | None, Option("--budget", "-b", metavar="N", help="The budget in tokens, or in the unit of the meter.")
]
Model = Annotated[str | None, Option("--model", "-m", metavar="NAME", help="The model whose tokens are counted.")]
Meter = Annotated[
    str | None, Option("--meter", metavar="NAME", help="A vocabulary, a unit such as chars, or a tokenizer.json file.")
]
Config = Annotated[
    str | None,
    Option(
        "--config", "-c", metavar="PATH", help="The settings file or its directory; default: the current directory."
    ),
]
Profile = Annotated[str | None, Option("--profile", metavar="NAME", help="The profile to apply.")]
Flow = Annotated[str | None, Option("--flow", metavar="NAME", help="The flow.")]
Step = Annotated[str | None, Option("--step", metavar="ID", help="The step of the flow.")]
Store = Annotated[
    str | None, Option("--store", metavar="URL", help="The store; default: store.url of the settings, or brim.db.")
]
