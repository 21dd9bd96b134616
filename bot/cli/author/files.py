"""Files of definitions and of the parts that they name: which is which, and what is wrong with them.

A part, such as an agent of a flow or a tuum of a workflow, is a file beside, or in the store.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot.cli.definition_desk import check_file, open_desk
from bot.cli.definition_files import SUFFIXES, get_key, load_engines, read_file
from bot.i18n.translate import Translator
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.kinds import Reference, find_linked_mistakes
from orchestrator.definitions.references import StoredVersions, find_reference_mistakes, link_references
from orchestrator.definitions.rules import find_key_mistake
from orchestrator.documents.document import Document
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import Finding, format_path, has_errors, sort_findings

if TYPE_CHECKING:
    from bot.cli.definition_desk import DefinitionDesk

OFF: Final = "finding-reference-off"
"""The code of the mistake that a part is switched off."""
NO_PARTS: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of definitions, and the kind of the parts that they name."""

    whole: str
    part: str
    key_field: str
    """The field of a whole that holds its key."""
    part_key_field: str = ""
    """The same of a part; "" if the name of its file is its key."""
    folder: str
    """The folder beside wholes in which parts may stand."""
    is_part: Callable[[Mapping[str, object]], bool]
    """Returns whether a document is meant as a part."""
    list_parts: Callable[[object], Iterable[Reference]]
    """Returns the parts that a document names."""

    def find_kind(self, document: object) -> str:
        """Return whether a document is meant as a part or as a whole."""
        return self.part if isinstance(document, Mapping) and self.is_part(document) else self.whole

    def find_key(self, document: object) -> str:
        """Return the key under which a correct whole is stored."""
        return str(document[self.key_field]) if isinstance(document, Mapping) else ""

    def find_part_key(self, path: Path, document: object) -> str:
        """Return the key of a part in a file."""
        own = document.get(self.part_key_field) if isinstance(document, Mapping) else None
        return own if isinstance(own, str) and own else get_key(path)


@dataclass(frozen=True, kw_only=True)
class CheckedFile:
    """A file of a whole or a part, and what is wrong with it."""

    path: Path
    kind: str
    findings: tuple[Finding, ...]
    document: object = None
    """None if it has errors by itself, whatever parts there are."""
    critical: tuple[str, ...] | None = ()
    """The methods in it that need two people; None if that cannot be told."""
    part_files: tuple[Path, ...] = ()
    """The parts that it names and that are files beside it."""
    not_looked_up: tuple[str, ...] = ()
    """The parts that it names, are no files, and could not be looked up without a database."""
    parts: Mapping[str, object] = field(default_factory=dict)
    """The documents of the others, by what is written where they are named."""


@dataclass(frozen=True, kw_only=True)
class PartStore:
    """The published parts, if there is a database."""

    desk: "DefinitionDesk | None"
    why_not: str = ""
    """Why nothing can be looked up."""


@contextlib.contextmanager
def open_part_store() -> Iterator[PartStore]:
    """Yield the store of the settings, opened for reading; one without a desk if there is no database."""
    with contextlib.ExitStack() as stack:
        try:
            store = PartStore(desk=stack.enter_context(open_desk(load_engines(), reads=True)))
        except SettingsError as error:
            store = PartStore(desk=None, why_not=error.reason)
        yield store


def read_data(path: Path) -> object:
    """Return the data in a file, also of one with mistakes; None if nothing can be read. Raises SettingsError."""
    draft = read_file(path).draft
    return draft.data if draft is not None else None


def check_path(family: Family, path: Path, store: PartStore) -> CheckedFile:
    """Return what is wrong with a file, which is a whole or a part. Raises SettingsError."""
    kind = family.find_kind(read_data(path))
    checked = check_one(path, kind)
    return link_parts(family, checked, store) if kind == family.whole else checked


def check_one(path: Path, kind: str) -> CheckedFile:
    """Return what is wrong with a file by itself, whatever parts there are. Raises SettingsError."""
    reading = read_file(path)
    checked = check_file(load_engines(), kind, Submission(read=lambda: reading))
    return CheckedFile(path=path, kind=kind, findings=checked.findings, document=checked.document, critical=checked.critical)


def link_parts(
    family: Family, whole: CheckedFile, store: PartStore, given: Mapping[str, object] = NO_PARTS, *, knows_files: bool = True
) -> CheckedFile:
    """Return a whole with what is wrong with its parts, and with both together.

    `given` are documents of parts by their keys, which are published with it; with `knows_files` those that are files beside it count, too.
    """
    draft = read_file(whole.path).draft
    if draft is None:
        return whole
    references = list(family.list_parts(draft.data))
    known = dict.fromkeys(one.written for one in references if one.written not in given) if knows_files else ()
    files = {name: file for name in known if (file := find_part_file(family, whole.path, name))}
    elsewhere = [one for one in references if one.written not in files]
    named: dict[str, object] = {**given, **{name: read_data(file) for name, file in files.items()}}
    missing: tuple[str, ...] = ()
    wrong: Sequence[Finding] = ()
    if store.desk is None:
        missing = tuple(dict.fromkeys(one.written for one in elsewhere if one.written not in given))
    elif elsewhere:
        found, stored = _look_up(whole, draft, elsewhere, store.desk)
        written = {format_path(one.path): one.written for one in elsewhere}
        wrong = [one for one in found if one.code == OFF or written.get(one.path) not in given]
        named = {**stored, **named}
    if whole.document is not None:
        kind = load_engines().kinds[family.whole]
        wrong = [*wrong, *(one for one in find_linked_mistakes(kind, draft, named) if one not in whole.findings)]
    findings = tuple(sort_findings([*whole.findings, *wrong]))
    return replace(whole, part_files=tuple(files.values()), not_looked_up=missing, parts=named, findings=findings)


def _look_up(
    whole: CheckedFile, draft: Document, references: Sequence[Reference], desk: "DefinitionDesk"
) -> tuple[Sequence[Finding], Mapping[str, object]]:
    """Return what the store says against the parts of a whole, and the documents of the others by what is written there."""
    versions = StoredVersions(desk.store)
    if whole.document is None:
        return desk.call(find_reference_mistakes(draft, references, versions)), NO_PARTS
    linked = desk.call(link_references(draft, references, versions))
    return linked.findings, linked.named


def find_part_file(family: Family, whole: Path, name: str) -> Path | None:
    """Return the file that holds the part of this key, beside the whole or in the folder of parts; None if there is none.

    Raises SettingsError.
    """
    if find_key_mistake(name) is not None:
        return None
    folders = (whole.parent, whole.parent / family.folder)
    places = [folder / f"{name}{suffix}" for folder in folders for suffix in SUFFIXES]
    return next((one for one in places if one.is_file() and family.find_kind(read_data(one)) == family.part), None)


def describe_file(checked: CheckedFile, tr: Translator) -> str:
    """Return the sentence about a file: how many mistakes it has, and who may publish it."""
    count = sum(one.severity == "error" for one in checked.findings)
    if count:
        return tr.translate("author-mistakes", count=count)
    if checked.critical == ():
        return tr.translate("author-good")
    return tr.translate("author-good-two", methods=", ".join(checked.critical or ()) or "—")


def is_wrong(checked: CheckedFile) -> bool:
    """Return whether a file has an error."""
    return has_errors(checked.findings)
