"""Bodies and texts as a store writes them: compressed where that is shorter.

Most bodies are short and much alike, so the compressor begins with a text that has what they repeat. A body that is not
compressed is written as it is. No UTF-8 has the byte that marks a compressed one.
"""

from __future__ import annotations

import zlib

from brim.errors import StoreError

_FIRST, _MARK = b"\xff\x01", b"\xff\x03"
"""Compressed as below, up to version 3 of the tables and since. Another known text needs another mark."""
_LEVEL = 6
_BITS = -zlib.MAX_WBITS
_LONGEST = 64 * 1024 * 1024
"""Bytes of the longest body that is compressed, so that a short one cannot become a long one."""
_KNOWN = (
    b'{"kept":["b2:"]}{"compaction":{"summary":"edits":{"},"removed":{"dropped":[{"handle":"b2:","tokens":{"message'
    b'":{"type":"function_call_output","call_id":"call_","output":"{"message":{"type":"function_call","call_id":"",'
    b'"name":"","arguments":"{\\"path\\": \\"/workspace/src/\\", \\"command\\": \\"cd /workspace && \\"}"}}{"messag'
    b'e":{"role":"model","parts":[{"functionCall":{"name":"","args":{"functionResponse":{"name":"","response":{{"me'
    b'ssage":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_","content":[{"type":"text","text'
    b'":"{"message":{"role":"assistant","content":[{"type":"text","text":""},{"type":"tool_use","id":"toolu_","name'
    b'":"","input":{"{"message":{"role":"system","content":"You are a helpful assistant that can interact with a co'
    b'mputer to solve tasks.{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_","type":"funct'
    b'ion","function":{"name":"","arguments":"{\\"","arguments":"{}"}}]}}{"message":{"role":"tool","tool_call_id":"'
    b'call_","name":"","content":"{"message":{"role":"assistant","content":"{"message":{"role":"user","content":"[{'
    b'"role":"assistant","content":"","tool_calls":[{"id":"call_","type":"function","function":{"name":"","argument'
    b's":"{\\"\\"}"}}]},{"role":"tool","content":"","tool_call_id":"call_"}]{"kind":"session","status":{"session":"'
    b'","model":null,"model":"gpt-5","unit":"tokens","exact":true,"used":,"budget":,"window":,"warning":,"peak":,"r'
    b'eported":null,"warnings":1,"compactions":0,"sub_ticks":0,"overflows":0,"prompts":,"messages":,"categories":{"'
    b'system":,"user":,"assistant":,"tool results":},"utilization":0.9,"peak_utilization":0.9,"use":0.9}}{"used":,"'
    b'budget":,"unit":"tokens","exact":false,"exact":true,"messages":,"truncated":false,"truncated":true,"categorie'
    b's":{"system":,"user":,"assistant":,"tool results":},"stable_prefix":,"units":,"cut":null,"held":{"kept":[[]],'
    b'"edits":{},"unanswered":[],"length":,"check":"","kept_before":0,"edits_gone":[]},"counts":{"prompts":,"messag'
    b'es":,"peak":,"warnings":1,"compactions":0,"sub_ticks":0,"overflows":0,"above":true,"reported":null,"drift":0,'
    b'"wait":0,"cut":0,"saved":0,"ceiling":null}}'
)
"""What bodies of a session repeat; the most frequent stands last. It is part of the format and never changes."""
_MORE = (
    b'{"event":"step","end":"iteration","end":"continue","progress":{"iterations":1,"sub_tick":0,"sub_ticks":1,"ste'
    b'ps":1,"steps_here":0,"fresh":false,"cost":0.0,"seconds":0.0,"ended":null,"state":{}}}[{"message":{"role":"us'
    b'er","content":"Iteration  of at most : go on towards the goal."}},{"message":{"role":"assistant","content":nu'
    b'll,"tool_calls":[{"id":"call_","type":"function","function":{"name":"","arguments":"{\\"\\": \\""}}]}},{"mess'
    b'age":{"role":"tool","tool_call_id":"call_","content":""}},{"message":{"role":"assistant","content":""}},{"mes'
    b'sage":{"role":"user","content":"{"used":1,"budget":1,"unit":"tokens","exact":true,"messages":1,"truncated":tr'
    b'ue,"truncated":false,"categories":{"system":,"tools":,"user":1,"assistant":1,"tool results":1,"framing":},"st'
    b'able_prefix":1,"units":1,"cut":null,"held":{"kept":[[0,1]],"length":1,"check":"","kept_before":0},"held":{"ke'
    b'pt":[[1,1]],"length":1,"check":"","kept_before":1},"counts":{"prompts":1,"messages":1,"peak":1,"warnings":1,"'
    b'compactions":1,"sub_ticks":1,"above":true,"cut":1,"saved":1}}'
)
"""What they repeat since version 4: steps of a loop, messages of one call, and prompts without what is empty."""
_TEXTS = {_FIRST: _KNOWN, _MARK: _KNOWN + _MORE}


def pack(content: bytes) -> bytes:
    """Return a body as it is written."""
    if len(content) > _LONGEST:
        return content
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _BITS, zdict=_TEXTS[_MARK])
    short = _MARK + press.compress(content) + press.flush()
    return short if len(short) < len(content) else content


def unpack(place: str, written: bytes) -> bytes:
    """Return the body of what was written.

    Raises:
        StoreError: nothing of brim wrote it.
    """
    written = bytes(written)
    mark = written[:2]
    if mark[:1] != _MARK[:1]:
        return written
    press = zlib.decompressobj(_BITS, _TEXTS.get(mark, _KNOWN))  # A session that is opened unpacks thousands.
    try:
        content = press.decompress(written[2:], _LONGEST) if mark in _TEXTS else b""
    except zlib.error:
        content = b""
    if not press.eof or press.unused_data:
        raise StoreError(place, "a body cannot be decompressed: the store was changed by another program")
    return content
