"""The reads that the program answers itself: what a method of the portal needs, who changed a record, what the company's documents say.

Here are their names, the texts of the first, and the forms of the answers to the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from orchestrator.domain.frozen import View
from state.stored import JsonObject

HELP: Final = "method.help"
"""What a method of the portal needs, from the program's catalogue."""
HISTORY: Final = "history.of"
"""Who changed a record, from the program's journal."""
DOCUMENTS: Final = "ask_documents"
"""What the company's documents say, from the service that searches them."""
OWN_READS: Final = frozenset({HELP, HISTORY, DOCUMENTS})


@dataclass(frozen=True, kw_only=True)
class HelpTexts:
    """What the data files give for the help: worked examples by method, and a value of each kind of field for examples made by code."""

    examples: Mapping[str, JsonObject] = field(default_factory=dict)
    """The parameters of a worked example, by the method's name."""
    samples: Mapping[str, object] = field(default_factory=dict)


NOT_SHOWN = "(text)"
"""What stands in place of a long text that was not asked for."""


class HistoryLine(View):
    """One changed field, in words; a value that is a long text is `NOT_SHOWN`, unless texts were asked for."""

    name: str
    before: str = ""
    after: str = ""


class HistoryChange(View):
    """One change of the record: what was done, when and by whom, who approved it, and what became of it."""

    when: str
    by: str = ""
    """Who asked the bot for it; "" for a change that was made in the portal itself."""
    approved_by: str = ""
    status: str = ""
    did: str = ""
    """The verb and the kind of record, such as "update deal"."""
    undone: str = ""
    lines: Sequence[HistoryLine] = ()


class RecordHistory(View):
    """The changes of one record, the newest first; `total` counts also those that are left out."""

    record: str
    title: str = ""
    total: int = 0
    has_prose: bool = False
    """Whether long texts are in it, which anybody may have written."""
    changes: Sequence[HistoryChange] = ()


class DocumentPassage(View):
    """A passage of a document, under the title of the document and the headings above it."""

    title: str = ""
    text: str = ""


class DocumentAnswer(View):
    """What the documents say about a question, and the passages that say it. Whoever may write a document wrote all of it."""

    answer: str
    passages: Sequence[DocumentPassage] = ()
    answered_by: str = ""
    """Who made the answer: "model", "passages" or "nothing"; `model` is the model, both "" if the service does not say it."""
    model: str = ""


class FindDocuments(Protocol):
    """Answers a question from the company's documents, as far as the person with this role may read them."""

    async def __call__(self, question: str, *, person: str, role: str, top_k: int | None) -> DocumentAnswer:
        """Return the answer with its passages. Raises ServiceFailed."""
