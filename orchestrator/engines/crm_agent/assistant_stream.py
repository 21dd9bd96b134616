"""Extracts the text for the person (the ASSISTANT block) from the model's answer while it arrives."""

import re
from collections.abc import Iterator

from orchestrator.engines.crm_agent.grammar import (
    BLANKS,
    CLOSING_FENCE,
    FENCE_LINE,
    FOREIGN,
    Header,
    build_format_error,
    find_headers,
    match_header,
    may_become_header,
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


_LONGEST_TAG = 20
_LONGEST_TAIL = 1_000
"""More blanks and end marks than this are shown: holding them back costs time at every chunk."""


class AssistantStream:
    def __init__(self) -> None:
        self._unread = ""
        self._line = ""
        self._tail = ""
        self._shown = ""
        self._depth = 0
        self._seen: dict[str, Header] = {}
        self._over = False
        self._at_line_start = True

    def feed(self, chunk: str) -> str:
        """Return what the person may now see in addition; never raises."""
        before = self._tail
        self._tail = ""
        return self._show(before + self._drop_thinking(self._unread + chunk))

    def close(self) -> str:
        """Return the rest of the text for the person; never raises."""
        rest = self._tail + self._read(self._unread) + self._finish_line()
        whole = cut_stray_fence((self._shown + rest)[: find_end(self._shown + rest)]).lstrip(BLANKS)
        return whole[len(self._shown) :]

    def _drop_thinking(self, text: str) -> str:
        """Return what stands outside of <think>…</think>; text after such a span begins a new line."""
        visible, cursor, self._unread = [], 0, ""
        while not self._over and (at := text.find("<", cursor)) >= 0:
            if not self._depth:
                visible.append(self._read(text[cursor:at]))
            cursor = at
            if self._may_become_tag(text, at):
                break
            tag = THINKING_TAG.match(text, at)
            cursor = tag.end() if tag else at + 1
            if tag:
                self._note_tag(closing=bool(tag[1]))
            elif not self._depth:
                visible.append(self._read("<"))
        if self._may_become_tag(text, cursor):
            self._unread = text[cursor:]
        elif not self._depth:
            visible.append(self._read(text[cursor:]))
        return "".join(visible)

    @staticmethod
    def _may_become_tag(text: str, at: int) -> bool:
        return len(text) - at < _LONGEST_TAG and text[at:].lower() in TAG_PREFIXES

    def _note_tag(self, *, closing: bool) -> None:
        if "ASSISTANT" in self._seen:
            self._over = True  # `parse` refuses thinking in the reply
        elif not closing:
            self._depth += 1
        elif self._depth:
            self._depth -= 1
        else:
            self._seen.clear()  # all before was thinking
        self._at_line_start, self._line = True, ""

    def _read(self, text: str) -> str:
        text, self._line = self._line + text, ""
        pieces, cursor = [], 0
        while cursor < len(text) and not self._over:
            newline = text.find("\n", cursor)
            stop = len(text) if newline < 0 else newline + 1
            if self._at_line_start:
                header = match_header(text, cursor, stop)
                is_certain = newline >= 0 or (header is not None and header.has_colon)
                if not is_certain and may_become_header(text[cursor:]):
                    self._line = text[cursor:]
                    break
                if header is not None and self._enter(header):
                    self._at_line_start = False
                    cursor = header.end
                    continue
            if "ASSISTANT" in self._seen:
                pieces.append(text[cursor:stop])
            self._at_line_start = newline >= 0
            cursor = stop
        return "".join(pieces)

    def _finish_line(self) -> str:
        line, self._line = self._line, ""
        if self._over or not line:
            return ""
        header = match_header(line, 0, len(line))
        if header is None or not self._enter(header):
            return line if "ASSISTANT" in self._seen else ""
        return line[header.end :] if header.word == "ASSISTANT" and not self._over else ""

    def _enter(self, header: Header) -> bool:
        """Return whether `header` begins a block; nothing more is shown if `parse` will reject it."""
        speech, first = self._seen.get("ASSISTANT"), self._seen.get(header.word)
        if speech is not None and speech.plain and not header.plain:
            return False
        if first is not None and header.word != "ASSISTANT" and first.plain and not header.plain:
            return False
        is_better_action = first is not None and header.word == "ACTION" and header.plain and not first.plain
        self._over = header.word in FOREIGN or speech is not None or (first is not None and not is_better_action)
        self._seen[header.word] = header
        return True

    def _show(self, text: str) -> str:
        secure = find_secure_end(text)
        if len(text) - secure > _LONGEST_TAIL:
            secure = len(text)
        fresh, self._tail = text[:secure], text[secure:]
        if not self._shown:
            fresh = fresh.lstrip(BLANKS)
        self._shown += fresh
        return fresh
