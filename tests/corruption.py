"""JSON with something wrong in it."""

import copy

WRONG = (
    *(None, True, -1, 3, 10**39, 10**60, 3.5, float("nan")),
    *("", "wrong", "100%", "a\0b", "\ud800", "x" * 5000, "x.json", "code:"),
    *([], [1], ["", ""], {}, {"a": 1}),
)


def leaves(value, way=()):
    """Return the way to every value of some JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(deeper for key, inner in items for deeper in leaves(inner, (*way, key)))]


def changed(values, way, value):
    """Return a copy of some JSON with one value changed."""
    return _altered(values, way, lambda holder, key: holder.__setitem__(key, value)) if way else value


def without(values, way):
    """Return a copy of some JSON with one value left out."""
    return _altered(values, way, lambda holder, key: holder.pop(key)) if way else None


def doubled(values, way):
    """Return a copy of some JSON with one value under a name that nobody knows, too."""
    return _altered(values, way, _twice) if way else [values]


def _altered(values, way, alter):
    made = copy.copy(values)
    if len(way) == 1:
        alter(made, way[0])
    else:
        made[way[0]] = _altered(made[way[0]], way[1:], alter)
    return made


def _twice(holder, key):
    if isinstance(holder, list):
        holder.append(holder[key])
    else:
        holder[f"{key}s"] = holder[key]


def corrupted(values, wrong=WRONG):
    """Yield the JSON with each value in turn changed to each wrong one, left out, and doubled."""
    for way in leaves(values):
        yield from (changed(values, way, value) for value in wrong)
        yield without(values, way)
        yield doubled(values, way)
