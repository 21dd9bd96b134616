"""Finds what is no content of an answer: thinking, a code fence, end marks of chat templates (<|im_end|>)."""

import re
from collections.abc import Iterator

from orchestrator.engines.crm_agent.grammar import (
    BLANKS,
    CLOSING_FENCE,
    FENCE_LINE,
    build_format_error,
    find_headers,
)

END_MARKS = (
    "<|im_end|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|return|>",
    "<|eot|>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "</s>",
    "<eos>",
    "[EOS]",
)

_TAG_NAMES = ("think", "thinking", "thought", "reasoning")
THINKING_TAG = re.compile(rf"<(/?)(?:{'|'.join(_TAG_NAMES)})[ ]?>", re.IGNORECASE)
_TAGS = tuple(f"<{slash}{name}{blank}>" for slash in ("", "/") for name in _TAG_NAMES for blank in ("", " "))
TAG_PREFIXES = frozenset(tag[:size] for tag in _TAGS for size in range(1, len(tag)))
_MARK_PREFIXES = frozenset(mark[:size] for mark in END_MARKS for size in range(1, len(mark)))
_LONGEST_MARK = max(map(len, END_MARKS))
_TURN_GOES_ON = re.compile("(?:" + "|".join(map(re.escape, END_MARKS)) + r")[ \t\r]{0,8}\n|<\|im_start\|>|<\|start_header_id\|>")
_FENCE_BEGUN = re.compile(r"[ ]{0,3}(?:`+|~+)")
_ACTS = re.compile(r"action|assistant|[\[\]{}]", re.IGNORECASE)
_CURE = "Close <think> once, before the first header; inside the answer reason under THOUGHT: only."


def find_end(text: str, start: int = 0, stop: int | None = None) -> int:
    stop = len(text) if stop is None else stop
    while True:
        while stop > start and text[stop - 1] in BLANKS:
            stop -= 1
        if not text.endswith(END_MARKS, start, stop):
            return stop
        stop -= next(len(mark) for mark in END_MARKS if text.endswith(mark, start, stop))


def find_secure_end(text: str) -> int:
    """Return up to where an unfinished text certainly belongs to the reply."""
    stop = len(text)
    for size in range(min(_LONGEST_MARK - 1, stop), 0, -1):
        if text[stop - size :] in _MARK_PREFIXES:
            stop -= size
            break
    stop = find_end(text, 0, stop)
    line = text.rfind("\n", 0, stop) + 1
    if stop - line <= _LONGEST_MARK and _FENCE_BEGUN.fullmatch(text, line, stop):
        stop = find_end(text, 0, line)
    return stop


def cut_stray_fence(text: str) -> str:
    line = text.rfind("\n") + 1
    if CLOSING_FENCE.fullmatch(text, line) and has_open_fence(text):
        return text[: find_end(text, 0, line)]
    return text


def has_open_fence(text: str) -> bool:
    return len(FENCE_LINE.findall(text)) % 2 == 1


def has_second_turn(assistant: str) -> bool:
    """Return whether text follows an end mark: the model then wrote the person's next message, too."""
    return _TURN_GOES_ON.search(assistant) is not None


def mask_thinking(text: str, end: int) -> str:
    """Replace thinking by as many spaces. Raises ModelClientError if it is unclear what is thinking."""
    spans = list(_find_thinking(text, end)) if "<" in text else []
    if not spans:
        return text[:end]
    pieces: list[str] = []
    cursor = 0
    for begin, stop in spans:
        pieces += (text[cursor:begin], " " * (stop - begin - 1), "\n")
        cursor = stop
    masked = "".join((*pieces, text[cursor:end]))
    first = next((header.start for header in find_headers(masked, 0, end)), end)
    for begin, stop in spans:
        is_unopened = THINKING_TAG.match(text, begin) is None
        if (stop > first or is_unopened) and _ACTS.search(text, begin, stop):
            raise build_format_error(text, begin, "a part of the answer stands inside <think>", _CURE)
    return masked


def _find_thinking(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of outermost spans. Raises ModelClientError."""
    depth, begin, tags = 0, 0, 0
    for tags, tag in enumerate(THINKING_TAG.finditer(text, 0, end), start=1):
        if not tag[1]:
            begin = begin if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield begin, tag.end()
        elif tags == 1:
            yield 0, tag.end()
        else:
            raise build_format_error(text, tag.start(), "</think> stands where nothing is open", _CURE)
    if depth:
        raise build_format_error(text, begin, "<think> is not closed; the answer may have been cut off", _CURE)
