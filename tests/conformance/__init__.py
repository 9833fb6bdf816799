"""Behaviours that any context trimmer should have, as cases that any trimmer can be put through.

To test your own, write the few lines of an adapter and run them:

    from conformance.adapter import Adapter
    from conformance.cases import CASES
    from conformance.judge import Judge
    from conformance.runner import run

    class Mine:
        name = "mine"

        def trim(self, messages, budget):
            return my_trimmer(messages, max_tokens=budget)

    judge = Judge(count=lambda text: len(tiktoken.get_encoding("o200k_base").encode_ordinary(text)))
    for case in CASES:
        print(case.name, run(Mine(), case, judge))

Messages are OpenAI chat messages. Sizes are the judge's: tokens of every text, of each call's name and of its
arguments, and 3 for each message.
"""
