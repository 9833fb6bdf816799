"""The tool `brim_recall`: the gateway offers it to models whose prompt was cut, and answers its calls."""
