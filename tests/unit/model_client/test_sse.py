"""Server-sent events survive any chunk boundary."""

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orchestrator.domain.errors import ModelClientError
from orchestrator.model_client.answer import MAX_LINE, SseDecoder


def events(*chunks: bytes) -> list[str]:
    """Return the data of all events in `chunks`."""
    decoder = SseDecoder()
    return [*(data for chunk in chunks for data in decoder.feed(chunk)), *decoder.close()]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
        (b"data: a\r\rdata: b\r\r", ["a", "b"]),
        (b"data:a\ndata:  b\n\n", ["a\n b"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", ["a"]),
        (b"data: [DONE]", ["[DONE]"]),
        (b"data: a\n", ["a"]),
        (b"data\n\n", [""]),
        (b"\n\n\n", []),
        (b"", []),
        (b"<html>busy</html>", []),
        ("data: сделка 🙂\u2028x\n\n".encode(), ["сделка 🙂\u2028x"]),
    ],
)
def test_decodes(stream: bytes, expected: list[str]) -> None:
    """The data of each event is what the standard says, whole or byte by byte."""
    assert events(stream) == expected
    assert events(*(bytes([byte]) for byte in stream)) == expected


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["data: ", "data:", ":", "\n", "\r", "\r\n", "я", "🙂", "x"]), max_size=30), st.data())
@example(["data: a", "\r", "\n", "\r", "\n"], None)
def test_no_boundary_matters(pieces: list[str], data: st.DataObject | None) -> None:
    """However the bytes are cut, also inside a character or between CR and LF, the events are the same."""
    stream = "".join(pieces).encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=8))) if data else range(len(stream))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[begin:end] for begin, end in pairwise(edges)]
    assert events(*chunks) == events(stream)


@pytest.mark.parametrize("chunks", [(b"data: \xff\n\n",), (b"data: \xd0",), (b"x" * MAX_LINE, b"x")])
def test_refuses(chunks: tuple[bytes, ...]) -> None:
    """Bytes that are not UTF-8, a character cut off by the end, and a line without end are failures."""
    with pytest.raises(ModelClientError):
        events(*chunks)
