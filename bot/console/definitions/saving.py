"""Stores the editor's text as a draft; and what if somebody else was first."""

from dataclasses import dataclass

from bot.console.definitions.document import EditedDocument
from bot.console.definitions.work import build_editor, submit_text
from bot.console.visit import Visit
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.kinds import DefinitionKind, find_no_title
from orchestrator.definitions.rules import Editor
from orchestrator.definitions.service import DefinitionService, Saved
from state.model.definitions import DefinitionMissing, DefinitionVersion, NotADraft, StaleRevision


class SomebodyWasFirst(Exception):
    """`present` is how the definition is now."""

    def __init__(self, present: DefinitionVersion) -> None:
        super().__init__(f"{present.kind}/{present.key} is version {present.version}, revision {present.revision} by now")
        self.present = present


@dataclass(frozen=True, kw_only=True)
class Details:
    key: str = ""
    """Of something new, where the document does not say it."""
    title: str = ""
    note: str = ""


def says_title(kind: DefinitionKind) -> bool:
    return kind.find_title is not find_no_title


class Saver:
    def __init__(self, visit: Visit, document: EditedDocument) -> None:
        """With the rights of the person."""
        self._visit, self._document = visit, document

    @property
    def _service(self) -> DefinitionService:
        return self._visit.services.definitions

    async def save(self, details: Details) -> Saved:
        """As a draft. Raises SomebodyWasFirst, with nothing stored, and what the service raises."""
        base = self._document.base
        return await (self._create_key(details) if base is None else self.save_over(base, details))

    async def save_over(self, present: DefinitionVersion, details: Details) -> Saved:
        """In place of a draft's text, otherwise as the next version. Raises as `save`, also if there is a later one."""
        submission = self._submit(details)
        if present.status == "draft":
            return await self._replace(present, submission)
        return await self._create(present.key, submission, after=present.version)

    async def _create_key(self, details: Details) -> Saved:
        """A key that is there already is none of it."""
        kind, editor, submission = self._service.find_kind(self._document.kind), build_editor(self._visit), self._submit(details)
        checked = await self._service.check(editor, kind.name, details.key or None, submission)
        data = checked.read.data if checked.read is not None else None
        stated_key = data.get(kind.key_field) if kind.key_field and isinstance(data, dict) else ""
        key = details.key or (stated_key if isinstance(stated_key, str) else "")
        if key and (present := await self._find(editor, key)) is not None:
            raise SomebodyWasFirst(present)
        return await self._create(details.key or ("" if not kind.key_field else None), submission, after=0)

    async def _find(self, editor: Editor, key: str) -> DefinitionVersion | None:
        try:
            return await self._service.find_version(editor, self._document.kind, key)
        except DefinitionMissing:
            return None

    async def _create(self, key: str | None, submission: Submission, *, after: int) -> Saved:
        editor, kind = build_editor(self._visit), self._document.kind
        try:
            return await self._service.create(editor, kind, key, submission, after=after)
        except StaleRevision as error:
            raise SomebodyWasFirst(await self._service.find_version(editor, kind, error.present.key)) from None

    async def _replace(self, base: DefinitionVersion, submission: Submission) -> Saved:
        editor = build_editor(self._visit)
        try:
            return await self._service.save(editor, base.kind, base.key, base.version, submission, expected=base.revision)
        except (StaleRevision, NotADraft):
            raise SomebodyWasFirst(await self._service.find_version(editor, base.kind, base.key)) from None

    def _submit(self, details: Details) -> Submission:
        document = self._document
        return submit_text(document.text, document.format, title=self._find_title(details), note=details.note)

    def _find_title(self, details: Details) -> str | None:
        """What its engine calls it if it has no title."""
        if details.title or (self._document.base is not None and self._document.base.title):
            return details.title or None
        kind, engines = self._document.kind, self._visit.services.engines.runs.values()
        engine = next((one for one in engines if one.kind is not None and one.kind.name == kind), None)
        return engine.describe(self._document.data)[0] if engine is not None else None
