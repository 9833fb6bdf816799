"""A proxy between clients and an OpenAI-compatible or Anthropic API that makes every request fit the model.

The gateway adds bytes, headers, keys and routes to `brim.sessions`, which decides on windows, meters, refusals and
conversations. `guard` decides which requests are admitted, `body` how much of them is read, `client_request` what a
request contains, `policy` which settings apply to it, `identity` which conversation it names, `decision` and `outcome`
what is sent, `upstream` where to, `upstream_client` how, `relay` how the answer is passed back, `recall` how calls of
`brim_recall` are answered, `key_mask` what an answer must not contain, and `problem` what an error looks like.
"""
