"""Between any client and any endpoint that speaks like OpenAI or Anthropic: every request that passes fits.

Who decides what: `guard` who may come in, `ask` what a request says, `policy` what is to be done with it, `windows` and
`meters` how much the model holds and how it counts, `identity` and `talks` which conversation it belongs to, `fitting`
what is sent, `upstream` where to, `relay` how the answer comes back, `problems` how a refusal looks.
"""
