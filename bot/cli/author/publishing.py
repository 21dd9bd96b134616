"""Publishes a definition with its parts only if nothing is wrong with any."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from bot.cli.author.faces import Family, find_family
from bot.cli.author.files import CheckedFile, PartStore, check_one, find_key, link_parts, read_data
from bot.cli.definition_desk import DefinitionDesk, open_desk
from bot.cli.definition_files import load_engines, read_file
from bot.cli.ops import escape_text
from orchestrator.definitions.checking import Submission
from orchestrator.definitions.rules import NotAllowed, find_key_mistake
from orchestrator.domain.errors import SettingsError
from state.canonical import dumps
from state.model.definitions import DefinitionMissing, DefinitionVersion

Became = Literal["published", "unchanged", "waits"]
"""`waits` for another person, who has to publish it."""
_TWO_PEOPLE: Final = frozenset({"needs_a_person", "needs_two_people"})


@dataclass(frozen=True, kw_only=True)
class Handled:
    kind: str
    key: str
    version: int
    became: Became
    critical: tuple[str, ...] | None
    """Methods that need two people; None if they cannot be told."""


@dataclass(frozen=True, kw_only=True)
class Publication:
    """With mistakes nothing was stored."""

    checked: Sequence[CheckedFile]
    handled: Sequence[Handled] = ()

    is_done: bool = False


def publish_files(kind: str, path: Path, parts: Sequence[Path], *, note: str) -> Publication:
    """Parts first, without those of the same text. Nothing if any file is wrong, no whole while a part waits. Raises SettingsError."""
    family = find_family(kind)
    keys = [find_key(family.part_key_field, file, read_data(file)) for file in parts]
    for key in keys:
        if find_key_mistake(key) is not None or keys.count(key) > 1:
            raise SettingsError(escape_text(f"--{family.part}: {key} is no key, or given twice"))
    checked = [*(check_one(Family(whole=family.part), file) for file in parts), check_one(family, path)]
    documents = {key: checked_file.document for key, checked_file in zip(keys, checked, strict=False)}
    with open_desk(load_engines()) as desk:
        checked[-1] = link_parts(family, checked[-1], PartStore(desk=desk), documents, knows_files=False)
        if any(file.is_wrong for file in checked):
            return Publication(checked=checked)
        handled = [_publish(desk, checked_file, key, note, is_part=True) for key, checked_file in zip(keys, checked, strict=False)]
        if any(one.became == "waits" for one in handled):
            return Publication(checked=checked, handled=handled)
        whole = _publish(desk, checked[-1], find_key(family.key_field, path, checked[-1].document), note, is_part=False)
    return Publication(checked=checked, handled=[*handled, whole], is_done=whole.became == "published")


def _publish(desk: DefinitionDesk, file: CheckedFile, key: str, note: str, *, is_part: bool) -> Handled:
    tell = partial(Handled, kind=file.kind, key=key, critical=file.critical)
    draft = None
    if is_part:
        active, last = desk.call(_find_versions(desk, file.kind, key))
        if active is not None and dumps(active.document) == dumps(file.document):
            return tell(version=active.version, became="unchanged")
        draft = last if last is not None and last.status == "draft" and dumps(last.document) == dumps(file.document) else None
    if draft is None:
        reading = read_file(file.path)
        submission = Submission(read=lambda: reading, note=note)
        draft = desk.call(desk.service.create(desk.editor, file.kind, key, submission, origin="imported")).version
    return tell(version=draft.version, became=desk.call(_try_to_publish(desk, draft, note)))


async def _find_versions(desk: DefinitionDesk, kind: str, key: str) -> tuple[DefinitionVersion | None, DefinitionVersion | None]:
    try:
        head = await desk.service.find_key(desk.editor, kind, key)
    except DefinitionMissing:
        return None, None
    last = await desk.service.find_version(desk.editor, kind, key)
    active = await desk.service.find_version(desk.editor, kind, key, head.active_version) if head.active_version else None
    return active, last


async def _try_to_publish(desk: DefinitionDesk, draft: DefinitionVersion, note: str) -> Became:
    try:
        await desk.service.publish(desk.editor, draft.kind, draft.key, draft.version, expected=draft.revision, note=note)
    except NotAllowed as error:
        if error.code not in _TWO_PEOPLE:
            raise
        return "waits"
    return "published"
