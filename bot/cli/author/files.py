"""Files of definitions and of their parts: what is wrong, and what is needed to play one."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from bot.cli.author.faces import Family
from bot.cli.definition_desk import check_file, open_desk
from bot.cli.inputs import read_text
from bot.cli.ops import escape_text
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.plugins.kind_face import NO_PARTS
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.kinds import Reference, find_linked_mistakes
from orchestrator.definitions.references import StoredVersions, link_references, look_up_references
from orchestrator.definitions.rules import find_key_mistake
from orchestrator.documents.document import Document
from orchestrator.documents.reading import Reading, read_document
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.finding import Finding, format_path, has_errors, sort_findings

if TYPE_CHECKING:
    from bot.cli.definition_desk import DefinitionDesk


SUFFIXES: Final[Mapping[str, Literal["json", "yaml"]]] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
TEST: Final = ".test"
"""Stands in the name of a file of dialogues, before its ending."""


def read_file(path: Path) -> Reading:
    """With its mistakes. Raises SettingsError."""
    return read_document(read_text(path), SUFFIXES.get(path.suffix.lower(), "auto"))


def get_key(path: Path) -> str:
    return path.name.removesuffix(path.suffix)


def list_files(folder: Path) -> list[Path]:
    """By name; JSON or YAML that holds no dialogues."""
    try:
        files = sorted(one for one in folder.iterdir() if one.suffix.lower() in SUFFIXES and one.is_file())
    except OSError as error:
        raise SettingsError(escape_text(f"{folder}: cannot be read ({error.strerror})")) from None
    return [one for one in files if not one.stem.endswith(TEST)]


def expand_paths(paths: list[Path]) -> Iterator[Path]:
    """Folders become their definitions. Raises SettingsError for one without any."""
    for path in paths:
        if path.is_dir():
            files = list_files(path)
            if not files:
                raise SettingsError(escape_text(f"{path} has no definition: a file such as NAME.yaml is needed"))
            yield from files
        else:
            yield path


OFF: Final = "finding-reference-off"


@dataclass(frozen=True, kw_only=True)
class CheckedFile:
    path: Path
    kind: str
    findings: tuple[Finding, ...]
    document: object = None
    """None if it has errors by itself."""
    critical: tuple[str, ...] | None = ()
    """Methods that need two people; None if that cannot be told."""
    part_files: tuple[Path, ...] = ()
    """Parts that are files beside it."""
    not_looked_up: tuple[str, ...] = ()
    """Parts that could not be looked up without a database."""
    parts: Mapping[str, object] = field(default_factory=dict)
    """Of parts that are no files, by what is written where they are named."""

    @property
    def is_wrong(self) -> bool:
        return has_errors(self.findings)


@dataclass(frozen=True, kw_only=True)
class LoadedFile:
    """It can be played if no file is wrong."""

    files: tuple[CheckedFile, ...]
    key: str
    document: Mapping[str, Any]
    parts: Mapping[str, object]
    missing: tuple[str, ...] = ()
    """Parts that are no files, where they need not be."""

    @property
    def wrong(self) -> CheckedFile | None:
        return next((file for file in self.files if file.is_wrong), None)


@dataclass(frozen=True, kw_only=True)
class PartStore:
    desk: "DefinitionDesk | None"
    why_not: str = ""


class Siblings(Mapping[str, object]):
    """The definitions in the folder of one, by file name; each is read when asked for."""

    def __init__(self, path: Path, document: object) -> None:
        self._files, self._documents = {get_key(file): file for file in list_files(path.parent)}, {get_key(path): document}

    def __getitem__(self, key: str) -> object:
        """Raises KeyError also for one that cannot be read."""
        if key not in self._documents:
            reading = read_file(self._files[key])
            self._documents[key] = reading.document.data if reading.document is not None else None
        if self._documents[key] is None:
            raise KeyError(key)
        return self._documents[key]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._files, **self._documents})

    def __len__(self) -> int:
        return len({**self._files, **self._documents})


@contextlib.contextmanager
def open_part_store() -> Iterator[PartStore]:
    """Without a desk if there is no database."""
    with contextlib.ExitStack() as stack:
        try:
            store = PartStore(desk=stack.enter_context(open_desk(load_installed_engines(), reads=True)))
        except SettingsError as error:
            store = PartStore(desk=None, why_not=error.reason)
        yield store


def read_data(path: Path) -> object:
    """Also of a file with mistakes; None if nothing can be read. Raises SettingsError."""
    draft = read_file(path).draft
    return draft.data if draft is not None else None


def find_key(field_name: str, path: Path, document: object) -> str:
    """Its field, otherwise the name of its file."""
    own = document.get(field_name) if isinstance(document, Mapping) else None
    return own if isinstance(own, str) and own else get_key(path)


def check_path(family: Family, path: Path, store: PartStore) -> CheckedFile:
    """Raises SettingsError."""
    kind = family.find_kind(read_data(path)) if family.part else family.whole
    return link_parts(family, check_one(family, path), store) if kind == family.whole else check_one(Family(whole=kind), path)


def check_one(family: Family, path: Path) -> CheckedFile:
    """Whatever parts there are. Raises SettingsError."""
    reading = read_file(path)
    checked = check_file(load_installed_engines(), family.whole, Submission(read=lambda: reading))
    findings: Sequence[Finding] = checked.findings
    if family.find_unknown is not None and reading.draft is not None:
        known = [get_key(file) for file in list_files(path.parent)]
        findings = sort_findings([*findings, *family.find_unknown(reading.draft, known)])
    return CheckedFile(path=path, kind=family.whole, findings=tuple(findings), document=checked.document, critical=checked.critical)


def link_parts(
    family: Family, whole: CheckedFile, store: PartStore, parts: Mapping[str, object] = NO_PARTS, *, knows_files: bool = True
) -> CheckedFile:
    """`parts` are published with it; `knows_files` counts those beside it, too."""
    draft = read_file(whole.path).draft
    if draft is None:
        return whole
    references = list(family.list_parts(draft.data))
    known = dict.fromkeys(part.written for part in references if part.written not in parts) if knows_files else ()
    files = find_part_files(family, whole.path, known)
    elsewhere = [part for part in references if part.written not in files]
    documents: dict[str, object] = {**parts, **{name: read_data(file) for name, file in files.items()}}
    missing: tuple[str, ...] = ()
    wrong: Sequence[Finding] = ()
    if store.desk is None:
        missing = tuple(dict.fromkeys(part.written for part in elsewhere if part.written not in parts))
    elif elsewhere:
        mistakes, stored = _look_up(whole, draft, elsewhere, store.desk)
        names_by_place = {format_path(part.path): part.written for part in elsewhere}
        wrong = [finding for finding in mistakes if finding.code == OFF or names_by_place.get(finding.path) not in parts]
        documents = {**stored, **documents}
    if whole.document is not None:
        kind = load_installed_engines().kinds[family.whole]
        wrong = [*wrong, *(finding for finding in find_linked_mistakes(kind, draft, documents) if finding not in whole.findings)]
    findings = tuple(sort_findings([*whole.findings, *wrong]))
    return replace(whole, part_files=tuple(files.values()), not_looked_up=missing, parts=documents, findings=findings)


def _look_up(
    whole: CheckedFile, draft: Document, references: Sequence[Reference], desk: "DefinitionDesk"
) -> tuple[Sequence[Finding], Mapping[str, object]]:
    versions = StoredVersions(desk.store)
    if whole.document is None:
        return desk.call(look_up_references(draft, references, versions))
    linked = desk.call(link_references(draft, references, versions))
    return linked.findings, linked.named


def find_part_files(family: Family, whole: Path, names: Iterable[str]) -> dict[str, Path]:
    """Beside the whole or in the folder of parts. Raises SettingsError."""
    return {name: file for name in names if (file := _find_part_file(family, whole, name)) is not None}


def _find_part_file(family: Family, whole: Path, key: str) -> Path | None:
    if find_key_mistake(key) is not None:
        return None
    places = [folder / f"{key}{suffix}" for folder in (whole.parent, whole.parent / family.folder) for suffix in SUFFIXES]
    return next((file for file in places if file.is_file() and family.find_kind(read_data(file)) == family.part), None)


def load_file(family: Family, path: Path, *, has_stand_ins: bool = False) -> LoadedFile:
    """With `has_stand_ins` parts are files or nothing; otherwise SettingsError for one that is neither a file nor published."""
    if family.part_refusal and family.find_kind(read_data(path)) == family.part:
        raise SettingsError(escape_text(f"{path} is a {family.part}: {family.part_refusal}"))
    missing: tuple[str, ...] = ()
    if has_stand_ins or not family.part:
        whole = check_one(family, path)
        names = dict.fromkeys(part.written for part in family.list_parts(whole.document))
        files = {name: file for name in names for file in find_part_files(family, path, [name.partition("@")[0]]).values()}
        whole = replace(whole, part_files=tuple(files.values()), parts={name: read_data(file) for name, file in files.items()})
        missing, why_not = tuple(name for name in names if name not in files), ""
    else:
        with open_part_store() as store:
            whole, why_not = link_parts(family, check_one(family, path), store), store.why_not
    checked = (whole, *(check_one(Family(whole=family.part), file) for file in dict.fromkeys(whole.part_files)))
    if whole.not_looked_up and not any(file.is_wrong for file in checked):
        unknown = ", ".join(whole.not_looked_up)
        raise SettingsError(escape_text(f"there are no files of the {family.part}s {unknown} beside {path}, and {why_not}"))
    document = whole.document if isinstance(whole.document, Mapping) else {}
    parts = whole.parts if family.find_unknown is None else Siblings(path, whole.document)
    return LoadedFile(files=checked, key=find_key(family.key_field, path, document), document=document, parts=parts, missing=missing)


def describe_file(checked: CheckedFile, tr: Translator) -> str:
    """How many mistakes it has, and who may publish it."""
    count = sum(finding.severity == "error" for finding in checked.findings)
    if count:
        return tr.translate("author-mistakes", count=count)
    if checked.critical == ():
        return tr.translate("author-good")
    return tr.translate("author-good-two", methods=", ".join(checked.critical or ()) or "—")
