"""Bodies and texts as a store writes them: compressed where that is shorter.

Most bodies are short and much alike, so the compressor begins with a text that has what they repeat. A body that is not
compressed is written as it is. No UTF-8 has the byte that marks a compressed one.
"""

from __future__ import annotations

import zlib

from brim.errors import StoreError

_MARK = b"\xff\x01"
"""Compressed as below. A change of the level or of the known text needs another mark."""
_FIRST = _MARK[:1]
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


def pack(content: bytes) -> bytes:
    """Return a body as it is written."""
    if len(content) > _LONGEST:
        return content
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _BITS, zdict=_KNOWN)
    short = _MARK + press.compress(content) + press.flush()
    return short if len(short) < len(content) else content


def unpack(place: str, written: bytes) -> bytes:
    """Return the body of what was written.

    Raises:
        StoreError: nothing of brim wrote it.
    """
    written = bytes(written)
    if written[:1] != _FIRST:
        return written
    press = zlib.decompressobj(_BITS, _KNOWN)  # A session that is opened unpacks thousands.
    try:
        content = press.decompress(written[2:], _LONGEST) if written[:2] == _MARK else b""
    except zlib.error:
        content = b""
    if not press.eof or press.unused_data:
        raise StoreError(place, "a body cannot be decompressed: the store was changed by another program")
    return content
