"""Stores what is in the editor as a draft: a new version, or the text of the draft that is there; and what if somebody else was first."""

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
    """Somebody has saved or published something since the person looked; `present` is how the definition is now."""

    def __init__(self, present: DefinitionVersion) -> None:
        """Keep the version, with its document."""
        super().__init__(f"{present.kind}/{present.key} is version {present.version}, revision {present.revision} by now")
        self.present = present


@dataclass(frozen=True, kw_only=True)
class Details:
    """What the person says beside the text."""

    key: str = ""
    """The key of something new, where the document does not say it."""
    title: str = ""
    note: str = ""


def says_title(kind: DefinitionKind) -> bool:
    """Return whether documents of the kind say their title themselves."""
    return kind.find_title is not find_no_title


class Saver:
    """Stores the document of one editor."""

    def __init__(self, visit: Visit, document: EditedDocument) -> None:
        """Store `document` with the rights of the person."""
        self._visit, self._document = visit, document

    @property
    def _service(self) -> DefinitionService:
        return self._visit.services.definitions

    async def save(self, details: Details) -> Saved:
        """Store the text as it is now as a draft, and return what was stored.

        Raises SomebodyWasFirst, with nothing stored, and what the service of definitions raises.
        """
        base = self._document.base
        return await (self._create_key(details) if base is None else self.save_over(base, details))

    async def save_over(self, present: DefinitionVersion, details: Details) -> Saved:
        """Store the text after a version that the person has seen: in place of the text of a draft, otherwise as the next version.

        Raises as `save` does, also if there is a later one.
        """
        submission = self._submit(details)
        if present.status == "draft":
            return await self._replace(present, submission)
        return await self._create(present.key, submission, after=present.version)

    async def _create_key(self, details: Details) -> Saved:
        """Store something new; a key that is there already is none of it."""
        kind, editor, submission = self._service.find_kind(self._document.kind), build_editor(self._visit), self._submit(details)
        checked = await self._service.check(editor, kind.name, details.key or None, submission)
        data = checked.read.data if checked.read is not None else None
        said = data.get(kind.key_field) if kind.key_field and isinstance(data, dict) else ""
        key = details.key or (said if isinstance(said, str) else "")
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
        """Return the title that the person gives; for something without any title, what its engine calls it."""
        if details.title or (self._document.base is not None and self._document.base.title):
            return details.title or None
        kind, engines = self._document.kind, self._visit.services.engines.runs.values()
        engine = next((one for one in engines if one.kind is not None and one.kind.name == kind), None)
        return engine.describe(self._document.data)[0] if engine is not None else None
