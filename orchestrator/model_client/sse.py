"""Decodes server-sent events from chunks that may end anywhere."""

import codecs
import re

from orchestrator.domain.errors import ModelClientError
from orchestrator.model_client.failures import NOT_UTF8

MAX_LINE = 1_000_000
_LINE_END = re.compile(r"\r\n|\n|\r(?=.)", re.DOTALL)


class SseDecoder:
    """Raises `ModelClientError` on bytes that are not UTF-8 and lines over `MAX_LINE` (WHATWG HTML, 9.2.6)."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._line = ""
        self._data: list[str] = []
        self._begun = False

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that the chunk completes."""
        return self._take(self._decode(chunk, final=False))

    def close(self) -> list[str]:
        """Many servers leave out the blank line behind the last event."""
        return self._take(self._decode(b"", final=True) + "\n\n")

    def _decode(self, chunk: bytes, *, final: bool) -> str:
        try:
            text = self._utf8.decode(chunk, final)
        except UnicodeDecodeError:
            raise ModelClientError(NOT_UTF8) from None
        if not self._begun and text:
            self._begun = True
            text = text.removeprefix("\ufeff")
        return text

    def _take(self, text: str) -> list[str]:
        buffer = self._line + text
        done, cursor = [], 0
        for end in _LINE_END.finditer(buffer, max(len(self._line) - 1, 0)):
            done += self._finish_line(buffer[cursor : end.start()])
            cursor = end.end()
        self._line = buffer[cursor:]
        if len(self._line) > MAX_LINE:
            raise ModelClientError("The model service sent an event that does not end.")
        return done

    def _finish_line(self, line: str) -> list[str]:
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            return []
        data, self._data = self._data, []
        return ["\n".join(data)] if data else []
