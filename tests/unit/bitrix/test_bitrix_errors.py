from typing import Any

import pytest

from bitrix.errors import BatchError, BitrixError, NotSent, OutcomeUnknown, QueryError, Refused, is_missing, to_safe_line


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NotSent(), "Nothing was executed: the request did not reach the portal or was turned away by a limit."),
        (OutcomeUnknown(), "The request was sent and nothing proves whether the portal acted."),
        (Refused(""), "The portal refused the call and changed nothing."),
        (Refused("NOT_FOUND"), "NOT_FOUND (HTTP 400)"),
        (Refused("NOT_FOUND", "Элемент не найден"), "NOT_FOUND: Элемент не найден (HTTP 400)"),
        (Refused("", "Not found"), "Not found (HTTP 400)"),
        (NotSent("too many", code="QUERY_LIMIT_EXCEEDED", status=503), "QUERY_LIMIT_EXCEEDED: too many (HTTP 503)"),
        (QueryError("broken"), "broken"),
        (BatchError("a", "broken"), "batch command 'a': broken"),
        (BatchError("", "no commands"), "batch: no commands"),
    ],
)
def test_sentences(error: Any, text: str) -> None:
    """Every error has a sentence."""
    if isinstance(error, Refused) and error.code + error.description:
        error = Refused(error.code, error.description, 400)
    assert str(error) == text


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Title is empty<br>Person is empty<br/>", "Title is empty Person is empty"),
        ("<b class='x'>No</b> &lt;script&gt;alert(1)&lt;/script&gt;", "No alert(1)"),
        ("a < b and c > d", "a < b and c > d"),
        ("line\r\n\ttwo\x00\x1b[31m", "line two [31m"),
        ("see https://portal.example/rest/1/secretcode/x now", "see [address] now"),
        ("target /rest/1/secretcode/x", "target /rest/1/***/x"),
        ("auth=secretcode", "auth=***"),
        ("x" * 5_000, "x" * 299 + "…"),
        ("", ""),
    ],
)
def test_clean(text: str, cleaned: str) -> None:
    """Text of an error is one short line without tags addresses or secrets."""
    assert to_safe_line(text) == cleaned


def test_tree() -> None:
    """The three findings share one base."""
    assert all(issubclass(kind, BitrixError) for kind in (NotSent, Refused, OutcomeUnknown))


@pytest.mark.parametrize(
    ("code", "description", "missing"),
    [
        ("NOT_FOUND", "", True),
        ("", "Not found", True),
        ("", "Элемент не найден", True),
        ("ERROR_METHOD_NOT_FOUND", "Method not found!", False),
        ("insufficient_scope", "Scope not found", False),
        ("ACCESS_DENIED", "Access denied.", False),
    ],
)
def test_only_a_word_about_the_record_says_that_it_is_missing(code: str, description: str, *, missing: bool) -> None:
    """A method that does not exist would otherwise empty every list of records."""
    assert is_missing(code, description) is missing
