"""A proxy between clients and an OpenAI-compatible or Anthropic API that makes every request fit the model.

The gateway adds bytes, headers, keys and routes to `brim.sessions`, which decides on windows, meters, refusals and
conversations. `exchange` follows one request through its steps; each step turns the value of the previous one into the
next: admitted, parsed, planned, fitted, sent, answered, learned.
"""
