"""What somebody else has saved since, brought into the text of this page."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from bot.console.definitions.document import EditedDocument, list_comments
from bot.plugins.definition_text import write_version
from orchestrator.documents.document import DocumentFormat
from orchestrator.documents.keeping import keep_text
from orchestrator.documents.merging import Conflict, Merged, Place, merge
from orchestrator.documents.reading import read_document
from orchestrator.documents.writing import write_document
from state.canonical import dumps
from state.journal.definitions import set_number
from state.model.definitions import DefinitionVersion

COMMENTS: Final[Place] = ("#",)
"""The place of comments, which are no data."""
GivenUp = Collection[tuple[Place, bool]]


@dataclass(frozen=True, kw_only=True)
class MyText:
    """The text of a page at one moment."""

    text: str
    saved_text: str
    """As it came into the page, or was saved from it."""
    base: DefinitionVersion
    format: DocumentFormat
    number_field: str

    @classmethod
    def copy_from(cls, document: EditedDocument, base: DefinitionVersion, number_field: str) -> "MyText":
        return cls(text=document.text, saved_text=document.saved_text, base=base, format=document.format, number_field=number_field)


@dataclass(frozen=True, kw_only=True)
class Reconciled:
    """`text` is that of the page with what is in `theirs`; `choices` are for the person, who has `mine` there until then."""

    text: str
    theirs: str
    merged: Merged
    choices: tuple[Conflict, ...]


def reconcile(mine: MyText, present: DefinitionVersion, given_up: GivenUp = ()) -> Reconciled | None:
    """None while the text of the page cannot be read. Call it in a thread."""
    own = read_document(mine.text, mine.format).document
    if own is None:
        return None
    merged = merge(mine.base.document, _rebase(mine, own.data), present.document, given_up)
    theirs = write_version(present, mine.format)
    into, choices = _choose_text(mine, theirs, given_up)
    text = keep_text(into, merged.data, mine.format) or write_document(merged.data, mine.format)
    return Reconciled(text=text, theirs=theirs, merged=merged, choices=(*merged.conflicts, *choices))


def _rebase(mine: MyText, data: object) -> object:
    """As if it were typed in what is stored, where the server has written ids and the number of the version."""
    saved = read_document(mine.saved_text, mine.format).document
    numbered: object = set_number(data, mine.number_field, mine.base.version)
    if saved is None or dumps(saved.data) == dumps(mine.base.document):
        return numbered
    return merge(set_number(saved.data, mine.number_field, mine.base.version), numbered, mine.base.document).data


def _choose_text(mine: MyText, theirs: str, given_up: GivenUp) -> tuple[str, tuple[Conflict, ...]]:
    """That of who changed comments; if both did, somebody must choose."""
    if mine.text == mine.saved_text:
        return theirs, ()
    if mine.format == "json":
        return mine.text, ()
    own, other = list_comments(mine.text), list_comments(theirs)
    if other in (own, list_comments(write_version(mine.base))):
        return mine.text, ()
    if own == list_comments(mine.saved_text):
        return theirs, ()
    choice = Conflict(place=COMMENTS, mine="\n".join(own or ()), theirs="\n".join(other or ()))
    return theirs if (COMMENTS, False) in given_up else mine.text, (choice,)
