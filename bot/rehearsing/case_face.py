"""How the tests of one kind of definitions are checked and played, and how finished runs become tests."""

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
"""A definition that can be played, with all that it needs of others."""


@dataclass(frozen=True, kw_only=True)
class PlayedCase:
    """What came of one test."""

    name: str
    differences: Sequence[str]
    """How it differs from what was expected, as lines to read; none if it does not."""
    reached: Mapping[str, Collection[str]]
    """The parts of the definition that it reached, by the names of `list_coverage`."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A run as a test."""

    key: str
    """The key of its definition."""
    case: BaseModel
    left_out: Sequence[str] = ()
    """At what the test does not look, because it came otherwise when the run was played again."""


TakeRun = Callable[[str, AsyncStore, FindClasses], Awaitable[Recording]]
"""Returns the run with this id as a test. Raises NotRecordable."""


@dataclass(frozen=True, kw_only=True)
class CaseFace(Generic[P]):
    """What whoever plays tests needs of one kind of definitions."""

    build: Callable[[str, Mapping[str, Any], Mapping[str, object]], P]
    """Returns the correct definition of (key, document) that can be played.

    It gets the documents of others by what is written where they are named; where a kind names its own, by their keys.
    """
    check_cases: Callable[[Document, P, FindClasses], Iterable[Finding]]
    """Returns all that is wrong with a file of tests, which may have any content."""
    play_cases: Callable[[P, object, FindClasses], AsyncIterator[PlayedCase]]
    """Yields what comes of each test in the data of a correct file."""
    list_coverage: Callable[[P], Mapping[str, Sequence[str]]]
    """Returns what tests should reach, by what people call it, such as steps."""
    take_run: TakeRun | None = None
    test: str = "test"
    """What people call one; the field of the file that holds them is its plural."""
    has_stand_ins: bool = False
    """Whether parts that are no files are played by what the test says of them; otherwise they must be files or published."""


CASE_FACE: Final[Slot[CaseFace[Any]]] = Slot("cases", CaseFace)
