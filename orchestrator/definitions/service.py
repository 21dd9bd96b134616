"""Works on stored definitions for the doors (HTTP API, command line): checks rights and documents, then calls the store.

What is wrong with a document is raised as DefinitionRefused with all findings, a missing right as NotAllowed, everything else as the errors
of `state.definitions`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeVar

from orchestrator.definitions.changes import Difference, compare_documents
from orchestrator.definitions.kinds import DefinitionKind, find_linked_mistakes, find_mistakes, find_program_mistakes, find_writes
from orchestrator.definitions.methods import find_method_mistakes, list_closed_hosts, list_critical_values
from orchestrator.definitions.references import StoredVersions, find_reference_mistakes, is_version_id, link_references, name_references
from orchestrator.definitions.rules import (
    Deed,
    Editor,
    FindClasses,
    IsCriticalField,
    KindRoles,
    MayFetch,
    NotAllowed,
    check_editor,
    check_publisher,
    check_reader,
    check_two_people,
    find_critical_writes,
    find_document_key,
    find_key_mistake,
)
from orchestrator.documents.document import Document
from orchestrator.documents.findings import LEFT_OUT
from orchestrator.documents.reading import Reading
from orchestrator.documents.reports import quote_part
from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.finding import DefinitionRefused, Finding, has_errors, sort_findings
from orchestrator.domain.inputs import DefinitionNews
from orchestrator.domain.suggestions import suggest_name
from state.canonical import to_storable_text
from state.clock import Clock, format_iso, generate_id, read_boottime
from state.definitions import (
    Author,
    DefinitionKey,
    DefinitionMissing,
    DefinitionsBusy,
    DefinitionVersion,
    HistoryEntry,
    Origin,
)
from state.journal import definitions
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, StoreUnwritable

T = TypeVar("T")
PATIENCE: Final = 8.0
"""Seconds to keep trying while somebody else changes definitions, for example because a process died while it did."""
LONGEST_TITLE: Final = 200
LONGEST_NOTE: Final = 500
_PAGE: Final = 500
NEWS_SESSION: Final = "definition-news"
"""The session of the news of publications. It is not that of the definitions themselves, whose lease nobody may keep."""


class KindUnknown(SdelkaError):
    """There is no such kind of definitions in this program."""


@dataclass(frozen=True, kw_only=True)
class Submission:
    """A document that somebody hands in, with what they say about it."""

    read: Callable[[], Reading]
    """Reads it; called in a thread, since a large text takes a while."""
    title: str | None = None
    """None keeps the title of the version before."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What a check of a document found: its findings, the methods in it that need two people, and its data if it has no error."""

    findings: tuple[Finding, ...]
    document: object = None
    read: Document | None = None
    """The document as it was read, with the places of what stands in it; with errors as far as it could be read."""
    critical: tuple[str, ...] | None = ()
    """None if it cannot be told what the document writes."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A version as it was stored, and the warnings about its document."""

    version: DefinitionVersion
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Comparison(Difference):
    """What changed between two versions of a definition."""

    before: DefinitionVersion
    after: DefinitionVersion


def find_kind(kinds: Mapping[str, DefinitionKind], name: str) -> DefinitionKind:
    """Return the kind. Raises KindUnknown, which names those that there are."""
    kind = kinds.get(name)
    if kind is None:
        near = suggest_name(name, kinds)
        known = ", ".join(sorted(kinds)) or "none"
        raise KindUnknown(f"This program has these kinds of definitions: {known}.{f' Did you mean {near}?' if near else ''}")
    return kind


def open_every_host(_address: str) -> bool:
    """Return True: nobody asks a policy."""
    return True


def check_document(
    kind: DefinitionKind,
    given: Submission,
    find_classes: FindClasses,
    is_critical: IsCriticalField,
    may_fetch: MayFetch = open_every_host,
) -> Checked:
    """Return what is wrong with a document, what in it makes cards, and what in it needs two people."""
    reading = given.read()
    found = find_mistakes(kind, reading)
    if reading.draft is not None:
        found = _merge(found, find_program_mistakes(kind, reading.draft))
    if reading.document is None or has_errors(found):
        return Checked(findings=found, read=reading.draft)
    data = reading.document.data
    found = (*found, *find_method_mistakes(reading.document, kind.list_methods(data), find_classes))
    if has_errors(found):
        return Checked(findings=found, read=reading.draft)
    told = (
        *list_critical_values(reading.document, kind.list_filled(data), is_critical),
        *list_closed_hosts(reading.document, kind.list_addresses(data), may_fetch),
    )
    return Checked(
        findings=_merge(found, told),
        document=data,
        read=reading.document,
        critical=find_critical_writes(find_writes(kind, data), find_classes),
    )


class DefinitionService:
    """What may be done with definitions; one instance for each door of a process. Every method raises StoreError."""

    def __init__(
        self,
        store: AsyncStore,
        kinds: Mapping[str, DefinitionKind],
        *,
        find_roles: Callable[[DefinitionKind], KindRoles],
        find_classes: FindClasses,
        is_critical: IsCriticalField,
        clock: Clock,
        may_fetch: MayFetch = open_every_host,
    ) -> None:
        """Work on definitions of these kinds. `find_roles` returns the roles that hold now, `find_classes` the classes of a method."""
        self._is_critical, self._may_fetch = is_critical, may_fetch
        self._store, self._kinds, self._clock = store, kinds, clock
        self._find_roles, self._find_classes = find_roles, find_classes
        self._reading = asyncio.Semaphore(1)  # a document of a megabyte takes a hundred times its size while it is read

    def find_kind(self, name: str) -> DefinitionKind:
        """Return the kind. Raises KindUnknown, which names those that there are."""
        return find_kind(self._kinds, name)

    def may(self, editor: Editor, kind_name: str, deed: Deed) -> bool:
        """Return whether the person may edit or publish definitions of the kind, whatever these write. Raises KindUnknown."""
        kind = self.find_kind(kind_name)
        check = check_editor if deed == "edit" else check_publisher
        try:
            check(editor, kind, self._find_roles(kind))
        except NotAllowed:
            return False
        return True

    def list_kinds(self, editor: Editor) -> list[str]:
        """Return the kinds whose definitions the person may read."""
        if editor.writes_for_customers:
            return []
        return [one.name for one in self._kinds.values() if self._find_roles(one).may_read(editor.actor)]

    async def check(self, editor: Editor, kind_name: str, key: str | None, given: Submission) -> Checked:
        """Return what is wrong with a key (None: the one that the document says) and a document, without storing anything."""
        kind = self.find_kind(kind_name)
        check_reader(editor, kind, self._find_roles(kind))
        checked = await self._check(kind, given)
        _, wrong = find_document_key(kind, key, checked.read)
        return replace(checked, findings=(*wrong, *checked.findings))

    async def create(
        self,
        editor: Editor,
        kind_name: str,
        key: str | None,
        given: Submission,
        *,
        origin: Origin = "created",
        after: int | None = None,
    ) -> Saved:
        """Store a document as a new version of this key, a draft that nothing executes yet. `origin` says where its text comes from.

        None as the key stands for the one that the document says. With `after`, the last version that the person knows (0 for none), it is
        refused with StaleRevision if there is a later one.
        """
        kind = self.find_kind(kind_name)
        check_editor(editor, kind, self._find_roles(kind))
        checked = await self._check(kind, given)
        key, wrong = find_document_key(kind, key, checked.read)
        if wrong or has_errors(checked.findings):
            raise DefinitionRefused([*wrong, *checked.findings])
        title = await self._find_title(kind, key, given, checked)
        made = await self._write(
            lambda author: self._store.write(
                definitions.create_version,
                author,
                kind.name,
                key,
                checked.document,
                title=_clean(title, LONGEST_TITLE),
                note=_clean(given.note, LONGEST_NOTE),
                what=origin,
                after=after,
                number_field=kind.number_field,
            ),
            editor,
        )
        return Saved(version=made, findings=checked.findings)

    async def save(self, editor: Editor, kind_name: str, key: str, version: int, given: Submission, *, expected: int) -> Saved:
        """Replace the text of a draft that still has the revision `expected`."""
        kind = self.find_kind(kind_name)
        check_editor(editor, kind, self._find_roles(kind))
        before = await self._find_version(kind, key, version)
        checked = await self._check(kind, given)
        _, wrong = find_document_key(kind, key, checked.read)
        if wrong or has_errors(checked.findings):
            raise DefinitionRefused([*wrong, *checked.findings])
        title = kind.find_title(checked.document) or (given.title if given.title is not None else before.title)
        saved = await self._write(
            lambda author: self._store.write(
                definitions.save_version,
                author,
                kind.name,
                key,
                version,
                checked.document,
                title=_clean(title, LONGEST_TITLE),
                note=_clean(given.note, LONGEST_NOTE),
                expected=expected,
                number_field=kind.number_field,
            ),
            editor,
        )
        return Saved(version=saved, findings=checked.findings)

    async def publish(
        self, editor: Editor, kind_name: str, key: str, version: int, *, expected: int, over: int | None = None, note: str = ""
    ) -> Saved:
        """Make a version of the revision `expected` the one that new runs begin with.

        With `over`, the version that the person knows as the one in force (0 for none), it is refused with StaleRevision if that is another
        one. Its document and the rule of two are checked once more, under the store's lock, with the text that is stored.
        """
        kind = self.find_kind(kind_name)
        roles = self._find_roles(kind)
        check_publisher(editor, kind, roles)
        told: list[Finding] = []
        last = await self._find_version(kind, key, version)
        await self._check_references(kind, last)

        def check(found: DefinitionVersion) -> None:
            mistakes = find_mistakes(kind, _to_reading(found.document))
            if has_errors(mistakes):
                raise DefinitionRefused(mistakes)
            told[:] = mistakes
            check_two_people(editor, found.writers, find_writes(kind, found.document), self._find_classes, roles)

        said = _clean(note, LONGEST_NOTE)
        published = await self._write(
            lambda author: self._store.write(
                definitions.publish_version,
                author,
                kind.name,
                key,
                version,
                expected=expected,
                over=over,
                check=check,
                note=said,
                inbox_new=[_build_news_row(author, last, note=said)] if kind.is_told else [],
            ),
            editor,
        )
        return Saved(version=published, findings=tuple(told))

    async def roll_back(self, editor: Editor, kind_name: str, key: str, version: int, *, note: str = "") -> Saved:
        """Store the text of an earlier version as a new draft, which is published as any other."""
        kind = self.find_kind(kind_name)
        check_editor(editor, kind, self._find_roles(kind))
        found = await self._find_version(kind, key, version)
        given = Submission(read=lambda: _to_reading(found.document), title=found.title, note=note or f"← v{version}")
        return await self.create(editor, kind_name, key, given, origin="rolled_back")

    async def switch(self, editor: Editor, kind_name: str, key: str, *, enabled: bool, expected: int, note: str = "") -> DefinitionKey:
        """Allow or refuse new runs of the whole key, which still has the revision `expected`. Everybody who edits may switch it off."""
        kind = self.find_kind(kind_name)
        roles = self._find_roles(kind)
        if enabled or editor.actor.role not in roles.edit:
            check_publisher(editor, kind, roles)
        else:
            check_editor(editor, kind, roles)
        said = _clean(note, LONGEST_NOTE)
        return await self._write(
            lambda author: self._store.write(definitions.switch_key, author, kind.name, key, enabled=enabled, expected=expected, note=said),
            editor,
        )

    async def list_keys(self, editor: Editor, kind_name: str = "", *, after: str = "", limit: int = 100) -> list[DefinitionKey]:
        """Return definitions of the kind, or of all kinds that the person may read, in the order of kinds and keys.

        `after` is the `place` of the last one of the page before.
        """
        if kind_name:
            kind = self.find_kind(kind_name)
            check_reader(editor, kind, self._find_roles(kind))
        seen = set(self.list_kinds(editor))
        found: list[DefinitionKey] = []
        while len(found) < limit:
            size = min(limit - len(found), _PAGE)
            page = await self._store.read(definitions.list_keys, kind_name, after, size)
            found += [one for one in page if one.kind in seen]
            if len(page) < size:
                break
            after = page[-1].place
        return found

    async def find_key(self, editor: Editor, kind_name: str, key: str) -> DefinitionKey:
        """Return the definition as a whole. Raises DefinitionMissing."""
        kind = self._admit_reader(editor, kind_name, key)
        found = await self._store.read(definitions.find_key, kind.name, key)
        if found is None:
            raise DefinitionMissing(f"There is no {kind.name}/{quote_part(key)}.")
        return found

    async def find_version(self, editor: Editor, kind_name: str, key: str, version: int = 0) -> DefinitionVersion:
        """Return a version with its document, the last one for 0. Raises DefinitionMissing."""
        return await self._find_version(self._admit_reader(editor, kind_name, key), key, version)

    async def find_by_id(self, editor: Editor, kind_name: str, version_id: str) -> DefinitionVersion:
        """Return the version of this kind with that UUID, with its document. Raises DefinitionMissing."""
        kind = self.find_kind(kind_name)
        check_reader(editor, kind, self._find_roles(kind))
        found = await self._store.read(definitions.find_by_id, version_id.lower()) if is_version_id(version_id) else None
        if found is None or found.kind != kind.name:
            raise DefinitionMissing(f"There is no {kind.name} with the id {quote_part(version_id)}.")
        return found

    async def list_versions(self, editor: Editor, kind_name: str, key: str) -> Sequence[DefinitionVersion]:
        """Return the versions of a key without their documents. Raises DefinitionMissing."""
        await self.find_key(editor, kind_name, key)
        return await self._store.read(definitions.list_versions, kind_name, key)

    async def list_history(self, editor: Editor, kind_name: str, key: str, *, limit: int) -> Sequence[HistoryEntry]:
        """Return what was done with a key, the newest first. Raises DefinitionMissing."""
        await self.find_key(editor, kind_name, key)
        return await self._store.read(definitions.list_history, kind_name, key, limit)

    async def compare(self, editor: Editor, kind_name: str, key: str, before: int, after: int) -> Comparison:
        """Return what changed between two versions of a key. Raises DefinitionMissing."""
        old = await self.find_version(editor, kind_name, key, before)
        new = await self.find_version(editor, kind_name, key, after)
        found = await asyncio.to_thread(compare_documents, old.document, new.document)
        return Comparison(before=old, after=new, changes=found.changes, more=found.more)

    async def name_versions(self, found: Comparison) -> Mapping[str, str]:
        """Return by its id what people call each version of another definition that one of two compared texts names."""
        kind = self.find_kind(found.after.kind)
        references = (*kind.list_references(found.before.document), *kind.list_references(found.after.document))
        return await name_references(references, StoredVersions(self._store))

    async def compare_submission(self, editor: Editor, found: DefinitionVersion, given: Submission) -> Difference:
        """Return what would change in a version if the document were saved as its text. Raises DefinitionRefused."""
        checked = await self.check(editor, found.kind, found.key, given)
        if has_errors(checked.findings):
            raise DefinitionRefused(checked.findings)
        numbered = definitions.set_number(checked.document, self.find_kind(found.kind).number_field, found.version)
        return await asyncio.to_thread(compare_documents, found.document, numbered)

    def _admit_reader(self, editor: Editor, kind_name: str, key: str) -> DefinitionKind:
        kind = self.find_kind(kind_name)
        check_reader(editor, kind, self._find_roles(kind))
        if find_key_mistake(key) is not None:  # nothing is stored under such a key
            raise DefinitionMissing(f"There is no {kind.name}/{quote_part(key)}.")
        return kind

    async def _check(self, kind: DefinitionKind, given: Submission) -> Checked:
        async with self._reading:
            checked = await asyncio.to_thread(partial(check_document, kind, given, self._find_classes, self._is_critical, self._may_fetch))
        return await self._link(kind, checked)

    async def _link(self, kind: DefinitionKind, checked: Checked) -> Checked:
        """Return what was checked with the versions that the document names fixed by their ids; those that cannot be are mistakes."""
        if checked.read is None:
            return checked
        references, store = kind.list_references(checked.read.data), StoredVersions(self._store)
        if has_errors(checked.findings):
            wrong = await find_reference_mistakes(checked.read, references, store)
            return replace(checked, findings=_merge(checked.findings, wrong))
        linked = await link_references(checked.read, references, store)
        found = linked.findings
        if linked.named and not found:
            more = await asyncio.to_thread(find_linked_mistakes, kind, checked.read, linked.named)
            found = tuple(one for one in more if one not in checked.findings)
        return replace(checked, document=linked.document, findings=_merge(checked.findings, found))

    async def _check_references(self, kind: DefinitionKind, found: DefinitionVersion) -> None:
        """Raise DefinitionRefused if what the document names or needs is not published, or its definition is switched off."""
        if found.active:  # to publish it once more changes nothing
            return
        document = Document.from_data(found.document)
        named = (*kind.list_references(found.document), *kind.list_needs(found.document))
        linked = await link_references(document, named, StoredVersions(self._store))
        if linked.findings:
            raise DefinitionRefused(linked.findings)

    async def _find_version(self, kind: DefinitionKind, key: str, version: int) -> DefinitionVersion:
        found = await self._store.read(definitions.find_version, kind.name, key, version)
        if found is None:
            raise DefinitionMissing(f"There is no {f'version {version} of ' if version else ''}{kind.name}/{quote_part(key)}.")
        return found

    async def _find_title(self, kind: DefinitionKind, key: str, given: Submission, checked: Checked) -> str:
        """Return the title that the document says, else the one that was given with it, else that of the version before."""
        if own := kind.find_title(checked.document):
            return own
        if given.title is not None:
            return given.title
        head = await self._store.read(definitions.find_key, kind.name, key)
        return head.title if head is not None else ""

    async def _write(self, attempt: Callable[[Author], Awaitable[T]], editor: Editor) -> T:
        """Return what `attempt` returns; call it again while somebody else changes definitions, for at most `PATIENCE` seconds."""
        until = read_boottime() + PATIENCE
        while True:
            try:
                return await attempt(self._build_author(editor))
            except (DefinitionsBusy, StoreUnwritable):
                if read_boottime() > until:
                    raise
                await asyncio.sleep(0.05)

    def _build_author(self, editor: Editor) -> Author:
        actor = editor.actor
        return Author(key=actor.key, name=actor.name, user=actor.bitrix_user_id, via=editor.via, at=self._clock.now())


def _to_reading(data: object) -> Reading:
    """Return stored data as a document that was read without mistakes."""
    document = Document.from_data(data)
    return Reading(document=document, draft=document, findings=())


def _merge(first: Sequence[Finding], more: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return all findings in the order of their places; the one that says that others were left out stays the last."""
    every = [*first, *more]
    return (*sort_findings([one for one in every if one.code != LEFT_OUT]), *[one for one in every if one.code == LEFT_OUT][:1])


def _clean(text: str, most: int) -> str:
    return to_storable_text(text).strip()[:most]


def _build_news_row(author: Author, found: DefinitionVersion, *, note: str) -> InboxRow:
    """Return the inbox row that tells of a version which `author` publishes; it is stored in the same commit."""
    row_id, at = generate_id(), format_iso(author.at)
    news = DefinitionNews(definition_kind=found.kind, key=found.key, version=found.version, title=found.title, at=at, note=note)
    return InboxRow(
        id=row_id,
        source=f"definition:{row_id}",
        session=NEWS_SESSION,
        lane="express",
        kind=DefinitionNews.KIND,
        actor={"key": author.key, "name": author.name},
        body=news.to_json(),
        received_at=author.at,
    )
