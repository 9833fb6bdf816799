"""Requests that fit, in any spelling that JSON allows: for proofs that what fits is sent as it came."""

from hypothesis import strategies as st

NUMBERS = (
    "1",
    "1.0",
    "-0",
    "0.70",
    "1e0",
    "1E+2",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
)
TEXTS = ('"plain"', r'"caf\u00e9"', r'"\ud83d\ude00"', '"日本 \\/ slash"', r'"tab\tquote\"back\\"', '"<|endoftext|>"')
BLANKS = st.text(" \n\t\r", max_size=3)
scalars = st.sampled_from((*NUMBERS, *TEXTS, "true", "null"))


@st.composite
def values(draw, depth=2):
    if depth == 0 or draw(st.booleans()):
        return draw(scalars)
    listed = draw(st.lists(values(depth - 1), max_size=3))
    if draw(st.booleans()):
        return "[" + draw(BLANKS) + ",".join(listed) + "]"
    pairs = [f'"k{i}"{draw(BLANKS)}:{each}' for i, each in enumerate(listed)]
    return "{" + ", ".join(pairs) + "}"


@st.composite
def bodies(draw):
    """Requests that fit, with fields that nobody knows, in any spelling."""
    said = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4))
    messages = [f'{{"role":{draw(BLANKS)}"user","content":{text},"x":{draw(values())}}}' for text in said]
    fields = ['"model": "gpt-4o"', f'"messages":[{draw(BLANKS)}{", ".join(messages)}]']
    fields += [f'"extra{i}":{draw(values())}' for i in range(draw(st.integers(0, 3)))]
    fields += ['"temperature": 1.0'] if draw(st.booleans()) else []
    body = "{" + ("," + draw(BLANKS)).join(draw(st.permutations(fields))) + "}" + draw(BLANKS)
    return body.encode()
