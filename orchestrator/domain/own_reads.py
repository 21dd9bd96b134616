"""The reads that the program answers itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from orchestrator.domain.errors import ServiceFailed
from orchestrator.domain.frozen import View
from state.stored import JsonObject

HELP: Final = "method.help"
HISTORY: Final = "history.of"
DOCUMENTS: Final = "ask_documents"
REPORT: Final = "report"
DAY: Final = "day"
NEXT: Final = "list.next"
"""Of the engine that talks: the rows below those that the person saw."""
SEND: Final = "list.send"
"""Of the engine that talks: the list goes to a colleague as a message."""
OWN_READS: Final = frozenset({HELP, HISTORY, DOCUMENTS, REPORT, DAY})


@dataclass(frozen=True, kw_only=True)
class HelpTexts:
    examples: Mapping[str, JsonObject] = field(default_factory=dict)
    samples: Mapping[str, object] = field(default_factory=dict)
    steps: Mapping[str, str] = field(default_factory=dict)
    """Of steps that are no methods of the portal."""


NOT_SHOWN = "(text)"


class HistoryLine(View):
    """A long text is `NOT_SHOWN`, unless texts were asked for."""

    name: str
    before: str = ""
    after: str = ""


class HistoryChange(View):
    when: str
    by: str = ""
    approved_by: str = ""
    status: str = ""
    did: str = ""
    undone: str = ""
    lines: Sequence[HistoryLine] = ()


class RecordHistory(View):
    """The newest first; `total` counts also those left out."""

    record: str
    title: str = ""
    total: int = 0
    has_prose: bool = False
    """Long texts, which anybody may have written."""
    changes: Sequence[HistoryChange] = ()


class DocumentPassage(View):
    title: str = ""
    text: str = ""
    source: str = ""
    """File, place and day."""
    shown: str = ""
    """What of the text a person is shown; "" for all of it."""
    path: str = ""
    """Of the document in its folder."""


class DocumentAnswer(View):
    """All of it is text of whoever may write a document."""

    answer: str
    passages: Sequence[DocumentPassage] = ()
    answered_by: str = ""
    model: str = ""


class FindDocuments(Protocol):
    async def __call__(self, question: str, *, person: str, role: str, top_k: int | None) -> DocumentAnswer:
        """Raises ServiceFailed."""


async def read_documents(find: FindDocuments | None, question: str, *, person: str, role: str, top_k: int | None) -> JsonObject:
    """{answer, passages}, or {error}."""
    if find is None:
        return {"error": "there is no service of documents"}
    try:
        documents = await find(question, person=person, role=role, top_k=top_k)
    except ServiceFailed as error:
        return {"error": str(error)}
    return {"answer": documents.answer, "passages": [{"title": one.title, "text": one.text} for one in documents.passages]}
