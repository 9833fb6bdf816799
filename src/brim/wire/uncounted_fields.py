"""The fields of a request that are not counted as text, each with the reason.

Every other text of a request counts: a field that is not in this list counts as its JSON, and makes the count an
estimate. Names are compared without underscores and capitals, because providers and clients write both.
"""

from __future__ import annotations

LABEL = 64
"""Characters of the longest name of a kind, id or mode. A longer text counts, whatever the list says of its field."""

_KIND = "names the kind of a part, which the framing covers"
_ID = "an id; counted as text for models whose template may show it, and above the length of a label for all"
_SEALED = "a proof that the provider checks; the model does not read it"
_SOURCE = "the data or the address of an image, a recording or a document, which counts by its size"
_CHOICE = "a choice among the provider's modes"
_RECORDS = "kept for the caller's records and the provider's routing; the model does not read it"
_SAMPLER = "steers the sampler; the model does not read it"
_STATE = "names what the provider stores, which nobody else can count"

MESSAGE_LABELS: dict[str, str] = {
    **dict.fromkeys(("type", "role", "format", "mediatype", "mimetype", "detail", "ttl", "phase"), _KIND),
    **dict.fromkeys(("status", "mode", "voice"), _CHOICE),
    **dict.fromkeys(("id", "callid", "toolcallid", "tooluseid", "fileid", "containerid"), _ID),
}
"""Fields anywhere in a message whose text is not counted up to the length of a label."""

MESSAGE_FIELDS: dict[str, str] = {
    **dict.fromkeys(("signature", "thoughtsignature"), _SEALED),
    "citedtext": "a copy of text that counts where it is quoted from; Anthropic documents that it is not charged",
    "logprobs": "the probabilities of an answer's tokens, which the model does not read",
}
"""Fields anywhere in a message that are not counted, however long."""

MEDIA_FIELDS: dict[str, str] = dict.fromkeys(
    ("data", "url", "uri", "imageurl", "filedata", "fileurl", "fileuri", "bytes", "result", "bucketowner"), _SOURCE
)
"""Fields inside an image, a recording or a document that are not counted as text, however long."""

TOOL_LABELS: dict[str, str] = {
    **dict.fromkeys(("type", "ttl"), _KIND),
    **dict.fromkeys(("$schema", "$id", "$comment", "strict"), "a note to the validator, which the model is not shown"),
}
"""Fields of a tool definition whose text is not counted up to the length of a label."""

BODY_LABELS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("toolchoice", "functioncall", "thinking", "reasoning", "reasoningeffort", "verbosity", "text.verbosity"),
            *(
                "truncation",
                "include",
                "modalities",
                "audio",
                "streamoptions",
                "contextmanagement",
                "outputconfig.effort",
            ),
            *("servicetier", "speed", "inferencegeo", "performanceconfig", "servicetier", "safetysettings"),
            *("promptcacheretention", "moderation", "cachecontrol", "betas", "anthropicbeta", "anthropicversion"),
            *("generationconfig.responsemimetype", "generationconfig.responsemodalities"),
            *("generationconfig.thinkingconfig", "generationconfig.speechconfig", "generationconfig.mediaresolution"),
            *("toolconfig.functioncallingconfig.mode", "toolconfig.toolchoice"),
        ),
        _CHOICE,
    ),
    **dict.fromkeys(
        ("responseformat.type", "text.format.type", "outputformat.type", "outputconfig.format.type"), _KIND
    ),
    **dict.fromkeys(("previousresponseid", "conversation", "prompt.id", "prompt.version", "container"), _STATE),
}
"""Fields of a body, by their path, whose texts are not counted up to the length of a label."""

BODY_FIELDS: dict[str, str] = {
    **dict.fromkeys(("model", "modelid", "user", "metadata", "requestmetadata", "labels"), _RECORDS),
    **dict.fromkeys(("safetyidentifier", "promptcachekey", "guardrailconfig"), _RECORDS),
    **dict.fromkeys(("stop", "stopsequences", "logitbias", "grammar", "guidedregex", "guidedgrammar"), _SAMPLER),
    **dict.fromkeys(("generationconfig.stopsequences", "inferenceconfig.stopsequences"), _SAMPLER),
    "additionalmodelresponsefieldpaths": "names fields of the answer",
    "cachedcontent": _STATE,
}
"""Fields of a body, by their path, that are not counted, however long."""


def folded(key: object) -> str:
    """Return the name of a field as the list has it."""
    return key.replace("_", "").lower() if isinstance(key, str) else ""
