from collections.abc import Sequence
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.domain.shelf import ShelfDocument, ShelfFailed

MEGABYTE: Final = 1024 * 1024
_ON_BUTTON: Final = 60
_IN_LINE: Final = 100
"""So that a page fits into one message of 4,096 characters."""
_ROLES: Final = ("admin", "lead", "manager")


def build_failure(error: ShelfFailed) -> Notice:
    return Notice(code="docs-failed", args={"reason": error.reason[:200]})


def describe_document(shelf_document: ShelfDocument, actor: Actor) -> Notice:
    reason = shelf_document.reasons.get(actor.locale, "")
    args = {
        "path": shorten(shelf_document.path, _IN_LINE),
        **measure(shelf_document.size),
        "state": shelf_document.state if shelf_document.is_file else "link",
        "reason": reason if len(reason) <= _IN_LINE else reason[: _IN_LINE - 1] + "…",
        "readers": describe_readers(shelf_document.readers).model_dump(),
    }
    return Notice(code="docs-line", args=args)


def describe_readers(readers: frozenset[str] | None) -> Notice:
    if readers is None:
        return Notice(code="docs-readers-everybody")
    known: Sequence[str] = [role for role in _ROLES if role in readers]
    return Notice(code=f"docs-readers-{'-'.join(known) or 'nobody'}")


def measure(size: int) -> dict[str, object]:
    """{size, unit}, in whole kilobytes or in megabytes with one decimal."""
    if size < MEGABYTE:
        return {"size": max(1, round(size / 1024)), "unit": "kb"}
    return {"size": round(size / MEGABYTE, 1), "unit": "mb"}


def shorten(path: str, longest: int = _ON_BUTTON) -> str:
    """The end stays."""
    return path if len(path) <= longest else "…" + path[-longest + 1 :]
