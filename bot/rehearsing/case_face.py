"""How tests of one kind of definitions are checked, played and recorded."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel

from bot.plugins.plugin import Slot
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.domain.finding import Finding
from state.journal.async_store import AsyncStore

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class PlayedCase:
    name: str
    differences: Sequence[str]
    """Lines to read; none if it came as expected."""
    reached: Mapping[str, Collection[str]]
    """By the names of `list_coverage`."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    key: str
    case: BaseModel
    left_out: Sequence[str] = ()
    """What came otherwise when the run was played again."""


TakeRun = Callable[[str, AsyncStore, FindClasses], Awaitable[Recording]]
"""Of the run with this id. Raises NotRecordable."""


@dataclass(frozen=True, kw_only=True)
class CaseFace(Generic[P]):
    """What playing tests needs of one kind of definitions."""

    build: Callable[[str, Mapping[str, Any], Mapping[str, object]], P]
    """Of (key, document, others by what is written or by key)."""
    check_cases: Callable[[Document, P, FindClasses], Iterable[Finding]]
    """The file may have any content."""
    play_cases: Callable[[P, object, FindClasses], AsyncIterator[PlayedCase]]
    list_coverage: Callable[[P], Mapping[str, Sequence[str]]]
    """What tests should reach, by what people call it."""
    complete: Callable[[P, Any, FindClasses], Awaitable[BaseModel]]
    """The test with what comes of it as what it expects. Raises NotRecordable."""
    take_run: TakeRun | None = None
    test: str = "test"
    """The field of the file is its plural."""
    has_stand_ins: bool = False
    """A test may stand in for parts; otherwise they must be files or published."""


CASE_FACE: Final[Slot[CaseFace[Any]]] = Slot("cases", CaseFace)
