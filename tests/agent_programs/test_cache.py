"""The simulated prompt caches, by sums that can be done by hand."""

import sys

from checkout import ROOT

sys.path.append(str(ROOT))

from scripts.agents.cache import BreakpointCache, CacheUse, PrefixCache, PromptPart


def prompt(*texts, marks=(), tokens=1_000):
    return [PromptPart(text, tokens, i in marks) for i, text in enumerate(texts)]


def test_a_marked_prefix_is_written_once_and_read_after():
    cache = BreakpointCache()
    assert cache.use(prompt("tools", "system", "task", marks=(1, 2))) == CacheUse(0, 3_000, 0)
    assert cache.use(prompt("tools", "system", "task", "call", "result", marks=(1, 4))) == CacheUse(3_000, 2_000, 0)


def test_what_follows_the_last_mark_is_plain_and_nothing_is_kept_without_a_mark():
    cache = BreakpointCache()
    assert cache.use(prompt("tools", "system", "task", marks=(1,))) == CacheUse(0, 2_000, 1_000)
    assert cache.use(prompt("tools", "system", "task")) == CacheUse(0, 0, 3_000)


def test_a_cut_reads_only_what_stands_before_it():
    cache = BreakpointCache()
    cache.use(prompt("tools", "system", "task", "old", "new", marks=(1, 4)))
    assert cache.use(prompt("tools", "system", "task", "new", "next", marks=(1, 4))) == CacheUse(2_000, 3_000, 0)


def test_a_mark_finds_a_prefix_at_most_twenty_parts_before_it():
    texts = [str(i) for i in range(40)]
    near, far = BreakpointCache(), BreakpointCache()
    near.use(prompt(*texts[:11], marks=(10,)))
    far.use(prompt(*texts[:10], marks=(9,)))
    assert near.use(prompt(*texts[:30], marks=(29,))).read == 11_000
    assert far.use(prompt(*texts[:30], marks=(29,))).read == 0


def test_a_prefix_below_1024_tokens_is_not_kept():
    cache = BreakpointCache()
    assert cache.use(prompt("tools", "task", marks=(0,))) == CacheUse(0, 0, 2_000)
    assert cache.use(prompt("tools", "task", marks=(0, 1))) == CacheUse(0, 2_000, 0)


def test_openai_reads_1024_tokens_and_steps_of_128():
    cache = PrefixCache()
    assert cache.use(prompt("tools", "system", tokens=600)) == CacheUse(0, 0, 1_200)
    assert cache.use(prompt("tools", "system", "task", tokens=600)) == CacheUse(1_152, 0, 648)
    assert cache.use(prompt("tools", "other", tokens=600)) == CacheUse(0, 0, 1_200)


def test_a_prompt_that_changes_at_its_start_reads_nothing():
    cache = PrefixCache()
    cache.use(prompt("tools", "a clock: 12:00", "task"))
    assert cache.use(prompt("tools", "a clock: 12:01", "task")).read == 0
    assert cache.use(prompt("tools", "a clock: 12:01", "task", "more")).read == 2_944
