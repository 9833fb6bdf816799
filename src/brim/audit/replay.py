"""The replay of one part of the index: the records of each conversation in order, its requests compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from brim.audit.comparison import Comparison, ReplayContext, ReplayPlan
from brim.audit.index import RecordSpan
from brim.audit.records import Recording
from brim.audit.threads import ConversationThreads, RecordReader
from brim.audit.totals import RECORDED, AuditTotals


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayJob:
    """One part of the index to replay."""

    recordings: tuple[Recording, ...]
    conversations: list[list[RecordSpan]] = field(repr=False)
    """The spans of each conversation, in the order of time."""
    plan: ReplayPlan


def replayed(job: ReplayJob) -> tuple[int, AuditTotals]:
    """Return the bytes of a part, and the totals of its conversations."""
    context = ReplayContext(job.plan)
    reader, totals = RecordReader(job.recordings), context.totals
    for spans in sorted(job.conversations, key=lambda spans: (spans[0].file, spans[0].offset)):
        threads = ConversationThreads(
            partial(Comparison, context), problem=totals.name, parted=partial(totals.add, RECORDED, "parted")
        )
        threads.run(reader.items(spans))
    return sum(span.length for spans in job.conversations for span in spans), context.totals
