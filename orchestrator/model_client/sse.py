"""Decodes a stream of server-sent events that arrives in chunks of bytes; a chunk may begin and end anywhere in an event.

The module does not depend on the contents of the events.
"""

import codecs
import re

from orchestrator.domain.errors import ModelClientError
from orchestrator.model_client.failures import NOT_UTF8

MAX_LINE = 1_000_000
_LINE_END = re.compile(r"\r\n|\n|\r(?=.)", re.DOTALL)


class SseDecoder:
    """Converts chunks of an event stream into the `data` of its events; other fields and comments are skipped.

    Raises `ModelClientError` on bytes that are not UTF-8 and on a line longer than `MAX_LINE` (WHATWG HTML, 9.2.6).
    """

    def __init__(self) -> None:
        """Create a decoder for one stream."""
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._line = ""
        self._data: list[str] = []
        self._begun = False

    def feed(self, chunk: bytes) -> list[str]:
        """Take the next chunk and return the data of the events that it completes, empty if there are none."""
        return self._take(self._decode(chunk, final=False))

    def close(self) -> list[str]:
        """Return the data of the last event; an empty list if there is none.

        Many servers end the stream without the blank line that should follow the last event.
        """
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
