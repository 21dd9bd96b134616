"""Works on stored definitions for the doors.

Raises DefinitionRefused with all findings, NotAllowed, or errors of `state.model.definitions`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Concatenate, Final, ParamSpec, TypeVar

from orchestrator.definitions.calls import CheckCall, check_no_call, find_call_mistakes, list_call_uses
from orchestrator.definitions.checking import Checked, Submission, check_calls, check_document, merge_findings, open_every_host, to_reading
from orchestrator.definitions.kinds import DefinitionKind, find_linked_mistakes, find_mistakes, find_writes, soften_recent
from orchestrator.definitions.reader import DefinitionReader, Difference, compare_documents
from orchestrator.definitions.references import StoredVersions, link_references, look_up_references
from orchestrator.definitions.rules import (
    Editor,
    FindClasses,
    IsCriticalField,
    KindRoles,
    MayFetch,
    check_editor,
    check_publisher,
    check_reader,
    check_two_people,
    find_document_key,
)
from orchestrator.definitions.sources import build_source_writer, read_version
from orchestrator.documents.document import Document
from orchestrator.domain.finding import DefinitionRefused, Finding, has_errors
from orchestrator.domain.inputs import DefinitionNews
from state.canonical import to_storable_text
from state.clock import Clock, format_iso, generate_id
from state.journal import definitions
from state.journal.async_store import AsyncStore, retry_while_busy
from state.journal.store import InboxRow, Store, StoreUnwritable
from state.model.definitions import Author, DefinitionDamaged, DefinitionKey, DefinitionsBusy, DefinitionVersion, Origin

T = TypeVar("T")
P = ParamSpec("P")
PATIENCE: Final = 8.0
LONGEST_TITLE: Final = 200
LONGEST_NOTE: Final = 500
NEWS_SESSION: Final = "definition-news"
"""Not that of the definitions, whose lease nobody may keep."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """The findings are warnings."""

    version: DefinitionVersion
    findings: tuple[Finding, ...] = ()


class DefinitionService(DefinitionReader):
    """One instance for each door of a process. Every method raises StoreError."""

    def __init__(  # noqa: PLR0913 - each is what one kind of checks asks, given by its name
        self,
        store: AsyncStore,
        kinds: Mapping[str, DefinitionKind],
        *,
        find_roles: Callable[[DefinitionKind], KindRoles],
        find_classes: FindClasses,
        is_critical: IsCriticalField,
        clock: Clock,
        may_fetch: MayFetch = open_every_host,
        check_call: CheckCall = check_no_call,
    ) -> None:
        super().__init__(store, kinds, find_roles=find_roles)
        self._is_critical, self._may_fetch, self._find_classes, self._clock = is_critical, may_fetch, find_classes, clock
        self._check_call = check_call
        self._reading = asyncio.Semaphore(1)  # a document of a megabyte takes a hundred times its size while it is read

    async def check(self, editor: Editor, kind_name: str, key: str | None, submission: Submission) -> Checked:
        """Check without storing; `key` None stands for the one in the document."""
        kind = self._admit(editor, kind_name, check_reader)
        checked = await self._check(kind, submission)
        _, wrong = find_document_key(kind, key, checked.read)
        return replace(checked, findings=(*wrong, *checked.findings))

    async def create(
        self,
        editor: Editor,
        kind_name: str,
        key: str | None,
        submission: Submission,
        *,
        origin: Origin = "created",
        after: int | None = None,
    ) -> Saved:
        """Store a draft; `key` None stands for the one in the document.

        StaleRevision if there is a later version than `after`, 0 for none.
        """
        kind = self._admit(editor, kind_name, check_editor)
        checked = await self._check(kind, submission)
        key, wrong = find_document_key(kind, key, checked.read)
        if wrong or has_errors(checked.findings):
            raise DefinitionRefused([*wrong, *checked.findings])
        before = await self._find_last(kind, key) if checked.read is None or not checked.read.source else None
        title = await self._find_title(kind, key, submission, checked)
        definition_version = await self._write(
            editor,
            definitions.create_version,
            kind.name,
            key,
            checked.document,
            title=_clean(title, LONGEST_TITLE),
            note=_clean(submission.note, LONGEST_NOTE),
            what=origin,
            after=after,
            number_field=kind.number_field,
            write_source=build_source_writer(checked.read, before),
        )
        return Saved(version=definition_version, findings=checked.findings)

    async def save(self, editor: Editor, kind_name: str, key: str, version: int, submission: Submission, *, expected: int) -> Saved:
        """Replace a draft that still has the revision `expected`."""
        kind = self._admit(editor, kind_name, check_editor)
        before = await self._find_version(kind, key, version)
        checked = await self._check(kind, submission)
        _, wrong = find_document_key(kind, key, checked.read)
        if wrong or has_errors(checked.findings):
            raise DefinitionRefused([*wrong, *checked.findings])
        title = kind.find_title(checked.document) or (submission.title if submission.title is not None else before.title)
        saved = await self._write(
            editor,
            definitions.save_version,
            kind.name,
            key,
            version,
            checked.document,
            title=_clean(title, LONGEST_TITLE),
            note=_clean(submission.note, LONGEST_NOTE),
            expected=expected,
            number_field=kind.number_field,
            write_source=build_source_writer(checked.read, before),
        )
        return Saved(version=saved, findings=checked.findings)

    async def publish(
        self, editor: Editor, kind_name: str, key: str, version: int, *, expected: int, over: int | None = None, note: str = ""
    ) -> Saved:
        """Check document and rule of two again under the store's lock.

        StaleRevision if another version than `over`, 0 for none, is in force.
        """
        kind = self.find_kind(kind_name)
        roles = self._find_roles(kind)
        check_publisher(editor, kind, roles)
        findings: list[Finding] = []
        last = await self._find_version(kind, key, version)
        await self._check_references(kind, last)
        await self._check_calls(kind, last)

        def check(definition_version: DefinitionVersion) -> None:
            mistakes = find_mistakes(kind, to_reading(definition_version.document))
            if definition_version.published_at:
                mistakes = soften_recent(kind, mistakes)
            if has_errors(mistakes):
                raise DefinitionRefused(mistakes)
            findings[:] = mistakes
            check_two_people(editor, definition_version.writers, find_writes(kind, definition_version.document), self._find_classes, roles)

        clean_note = _clean(note, LONGEST_NOTE)

        def publish(store: Store, author: Author) -> DefinitionVersion:
            news = [_build_news_row(author, last, note=clean_note)] if kind.is_told else []
            return definitions.publish_version(
                store, author, kind.name, key, version, expected=expected, over=over, check=check, note=clean_note, inbox_new=news
            )

        published = await self._write(editor, publish)
        return Saved(version=published, findings=tuple(findings))

    async def roll_back(self, editor: Editor, kind_name: str, key: str, version: int, *, note: str = "") -> Saved:
        """As a new draft, which is published as any other."""
        kind = self._admit(editor, kind_name, check_editor)
        earlier = await self._find_version(kind, key, version)
        submission = Submission(read=lambda: read_version(earlier), title=earlier.title, note=note or f"← v{version}")
        return await self.create(editor, kind_name, key, submission, origin="rolled_back")

    async def switch(self, editor: Editor, kind_name: str, key: str, *, enabled: bool, expected: int, note: str = "") -> DefinitionKey:
        """Everybody who edits may switch it off."""
        kind = self.find_kind(kind_name)
        roles = self._find_roles(kind)
        if enabled or editor.actor.role not in roles.edit:
            check_publisher(editor, kind, roles)
        else:
            check_editor(editor, kind, roles)
        return await self._write(
            editor, definitions.switch_key, kind.name, key, enabled=enabled, expected=expected, note=_clean(note, LONGEST_NOTE)
        )

    async def compare_submission(self, editor: Editor, version: DefinitionVersion, submission: Submission) -> Difference:
        checked = await self.check(editor, version.kind, version.key, submission)
        if has_errors(checked.findings):
            raise DefinitionRefused(checked.findings)
        numbered = definitions.set_number(checked.document, self.find_kind(version.kind).number_field, version.version)
        return await asyncio.to_thread(compare_documents, version.document, numbered)

    async def _check(self, kind: DefinitionKind, submission: Submission) -> Checked:
        async with self._reading:
            checked = await asyncio.to_thread(
                partial(check_document, kind, submission, self._find_classes, self._is_critical, self._may_fetch)
            )
        return await self._link(kind, await check_calls(kind, checked, self._check_call))

    async def _link(self, kind: DefinitionKind, checked: Checked) -> Checked:
        """Fix named versions by their ids; those that cannot be are mistakes."""
        if checked.read is None:
            return checked
        references, store = kind.list_references(checked.read.data), StoredVersions(self._store)
        if has_errors(checked.findings):
            wrong, parts = await look_up_references(checked.read, references, store)
            return replace(checked, findings=merge_findings(checked.findings, wrong), parts=parts)
        linked = await link_references(checked.read, references, store)
        findings = linked.findings
        if linked.named and not findings:
            more = await asyncio.to_thread(find_linked_mistakes, kind, checked.read, linked.named)
            findings = tuple(finding for finding in more if finding not in checked.findings)
        return replace(checked, document=linked.document, findings=merge_findings(checked.findings, findings), parts=linked.named)

    async def _check_references(self, kind: DefinitionKind, definition_version: DefinitionVersion) -> None:
        """Raise DefinitionRefused if what it names or needs is off or unpublished."""
        if definition_version.active:  # to publish it once more changes nothing
            return
        document = Document.from_data(definition_version.document)
        references = (*kind.list_references(definition_version.document), *kind.list_needs(definition_version.document))
        linked = await link_references(document, references, StoredVersions(self._store))
        if linked.findings:
            raise DefinitionRefused(linked.findings)

    async def _check_calls(self, kind: DefinitionKind, definition_version: DefinitionVersion) -> None:
        """Raises DefinitionRefused; the portal may have changed."""
        if definition_version.published_at:  # those that were published before these were looked for go on
            return
        document = Document.from_data(definition_version.document)
        wrong = await find_call_mistakes(document, list_call_uses(kind, document.data), self._check_call)
        if has_errors(wrong):
            raise DefinitionRefused(wrong)

    async def _find_title(self, kind: DefinitionKind, key: str, submission: Submission, checked: Checked) -> str:
        """Of the document, the submission, or the version before."""
        if own := kind.find_title(checked.document):
            return own
        if submission.title is not None:
            return submission.title
        head = await self._store.read(definitions.find_key, kind.name, key)
        return head.title if head is not None else ""

    async def _find_last(self, kind: DefinitionKind, key: str) -> DefinitionVersion | None:
        try:
            return await self._store.read(definitions.find_version, kind.name, key)
        except DefinitionDamaged:  # which another version is about to mend
            return None

    async def _write(self, editor: Editor, function: Callable[Concatenate[Store, Author, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        attempt = lambda: self._store.write(function, self._build_author(editor), *args, **kwargs)  # noqa: E731 - each has another time
        return await retry_while_busy(attempt, DefinitionsBusy, StoreUnwritable, patience=PATIENCE)

    def _build_author(self, editor: Editor) -> Author:
        actor = editor.actor
        return Author(key=actor.key, name=actor.name, user=actor.bitrix_user_id, via=editor.via, at=self._clock.now())


def _clean(text: str, most: int) -> str:
    return to_storable_text(text).strip()[:most]


def _build_news_row(author: Author, version: DefinitionVersion, *, note: str) -> InboxRow:
    row_id, at = generate_id(), format_iso(author.at)
    news = DefinitionNews(definition_kind=version.kind, key=version.key, version=version.version, title=version.title, at=at, note=note)
    return news.to_row(
        NEWS_SESSION, source=f"definition:{row_id}", actor={"key": author.key, "name": author.name}, now=author.at, row_id=row_id
    )
