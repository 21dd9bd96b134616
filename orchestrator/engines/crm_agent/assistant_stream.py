"""Extracts the visible ASSISTANT text while the model's answer is still arriving. Never shows a THOUGHT, an ACTION or a header."""

import re

from orchestrator.engines.crm_agent.grammar import FOREIGN, HEADER, HEADER_PREFIXES, OPENING_FENCE, extract_word

_FENCE_TAIL = re.compile(r"`{1,3}\s{0,32}")
_LONGEST_FENCE_LINE = 40


class AssistantStream:
    """An incremental reader of one answer. Only `parse` on the finished answer decides whether the answer is valid.

    For every answer that `parse` accepts, however it is split into chunks, the results of `feed` and `close` joined equal
    `parse(text).assistant`, except for trailing whitespace.
    """

    def __init__(self) -> None:
        """Start before the first header."""
        self._undecided = ""
        self._block = ""
        self._seen: set[str] = set()
        self._over = False
        self._fenced = False
        self._at_line_start = False
        self._shown = False

    def feed(self, chunk: str) -> str:
        """Return the newly visible text. Text that may still become a header is held back. Never raises."""
        if self._over:
            return ""
        text, self._undecided = self._undecided + chunk, ""
        if not self._seen:
            text = self._begin(text)
        return self._read(text)

    def close(self) -> str:
        """Return the text that was held back at the end of the answer and is no header. Never raises."""
        rest, self._undecided = self._undecided, ""
        is_fence = self._fenced and _FENCE_TAIL.fullmatch(rest)
        return "" if is_fence or self._over else self._extract_visible(rest)

    def _begin(self, text: str) -> str:
        """Skip whitespace and a code fence before THOUGHT; return what follows its header."""
        text = text.lstrip() if self._fenced else text.lstrip().removeprefix("\ufeff").lstrip()
        if not self._fenced and text.startswith("```"):
            opening = OPENING_FENCE.match(text)
            if opening is None:
                return self._wait(text, bearable=len(text) <= _LONGEST_FENCE_LINE)
            self._fenced = True
            text = text[opening.end() :].lstrip()
        if not text or text in HEADER_PREFIXES or text in {"`", "``"}:
            return self._wait(text, bearable=True)
        header = HEADER.match(text)
        if header is None or extract_word(header) != "THOUGHT":
            return self._wait("", bearable=False)
        self._enter("THOUGHT")
        return text[header.end() :]

    def _wait(self, text: str, *, bearable: bool) -> str:
        self._undecided, self._over = text, not bearable
        return ""

    def _read(self, text: str) -> str:
        shown, cursor = [], 0
        while cursor < len(text) and not self._over:
            if self._at_line_start:
                if self._is_undecided(text, cursor):
                    self._undecided = text[cursor:]
                    break
                if header := HEADER.match(text, cursor):
                    self._enter(extract_word(header))
                    cursor = header.end()
                    continue
            newline = text.find("\n", cursor)
            stop = len(text) if newline < 0 else newline + 1
            shown.append(self._extract_visible(text[cursor:stop]))
            self._at_line_start = newline >= 0
            cursor = stop
        return "".join(shown)

    def _is_undecided(self, text: str, cursor: int) -> bool:
        if len(text) - cursor > _LONGEST_FENCE_LINE:
            return False
        rest = text[cursor:]
        return rest in HEADER_PREFIXES or (self._fenced and _FENCE_TAIL.fullmatch(rest) is not None)

    def _enter(self, word: str) -> None:
        """Begin the block `word`; if `parse` will reject this header, show nothing more."""
        self._over = word in self._seen or word in FOREIGN or "ASSISTANT" in self._seen
        self._seen.add(word)
        self._block = word
        self._at_line_start = False

    def _extract_visible(self, piece: str) -> str:
        if self._block != "ASSISTANT":
            return ""
        if not self._shown:
            piece = piece.lstrip()
            self._shown = bool(piece)
        return piece
