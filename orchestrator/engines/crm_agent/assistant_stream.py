"""Extracts the text for the person (the ASSISTANT block) from the model's answer while it arrives."""

from orchestrator.engines.crm_agent.envelope import TAG_PREFIXES, THINKING_TAG, cut_stray_fence, find_end, find_secure_end
from orchestrator.engines.crm_agent.grammar import BLANKS, FOREIGN, Header, match_header, may_become_header

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
