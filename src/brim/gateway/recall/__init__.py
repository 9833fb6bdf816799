"""The tool `brim_recall`: offered to models whose prompt was cut, and answered by the gateway."""
