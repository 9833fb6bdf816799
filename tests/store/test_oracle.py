"""Whatever is asked of a store, SQLite answers as the plain dictionaries do."""

from hypothesis import given
from hypothesis import strategies as st

from brim.errors import BrimError
from brim.store import open_store
from brim.store.texts import handle_of
from properties import examples
from store.oracle import DictionaryStore

_SESSIONS = st.sampled_from(["a", "b", "c"])
_WORDS = st.lists(st.sampled_from(["red", "green", "blue", "数据"]), max_size=4).map(" ".join)
_BODIES = st.fixed_dictionaries({"text": st.text(max_size=5) | _WORDS})
_KINDS = ["note", "text", "message", "message", "continuation"]
_NUMBERS = st.integers(0, 4)

_CALLS = st.one_of(
    st.tuples(
        st.just("append"),
        st.tuples(_SESSIONS, st.lists(st.tuples(st.sampled_from(_KINDS), _BODIES), max_size=4)),
        st.fixed_dictionaries({}, optional={"after": _NUMBERS, "meta": _BODIES}),
    ),
    st.tuples(st.just("text"), st.tuples(_WORDS.map(handle_of)), st.fixed_dictionaries({"session": _SESSIONS})),
    st.tuples(st.just("search"), st.tuples(_WORDS), st.fixed_dictionaries({}, optional={"session": _SESSIONS})),
    st.tuples(st.just("text"), st.tuples(_WORDS.map(lambda text: handle_of(text)[:11])), st.just({})),
    st.tuples(st.just("session"), st.tuples(_SESSIONS), st.just({})),
    st.tuples(
        st.just("entries"),
        st.tuples(_SESSIONS),
        st.fixed_dictionaries(
            {},
            optional={
                "kinds": st.lists(st.sampled_from(_KINDS), max_size=2),
                "after": st.integers(0, 9),
                "limit": _NUMBERS,
                "newest": st.booleans(),
            },
        ),
    ),
    st.tuples(st.just("sessions"), st.just(()), st.fixed_dictionaries({"limit": _NUMBERS})),
    st.tuples(
        st.just("save"), st.tuples(st.just("loop"), _SESSIONS, _BODIES), st.fixed_dictionaries({"version": _NUMBERS})
    ),
    st.tuples(st.just("load"), st.tuples(st.just("loop"), _SESSIONS), st.just({})),
    st.tuples(st.just("forget"), st.tuples(st.just("loop"), _SESSIONS), st.just({})),
    st.tuples(
        st.just("purge"),
        st.just(()),
        st.fixed_dictionaries(
            {}, optional={"session": _SESSIONS, "before": st.integers(0, 40), "documents": st.just(["loop"])}
        ),
    ),
)


class Side:
    """One of the two stores, with its own clock that ticks at each call."""

    def __init__(self, make):
        self.time = 0.0
        self.store = make(lambda: self.time)

    def call(self, name, positional, named):
        self.time += 1
        try:
            answer = getattr(self.store, name)(*positional, **named)
        except BrimError as error:
            return type(error), str(error).removeprefix(f"{self.store.url}: ")
        return {each[:5] for each in answer} if name == "search" else answer


@examples(200)
@given(calls=st.lists(_CALLS, max_size=25))
def test_sqlite_answers_as_dictionaries_do(calls):
    plain = Side(DictionaryStore)
    real = Side(lambda clock: open_store("sqlite:///:memory:", clock=clock))
    with real.store:
        for call in calls:
            assert real.call(*call) == plain.call(*call), call
