"""Lists versions page by page, filtered by title, tag and status (S002-15, S002-54)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engines.flows.http.definition_models import ListQuery
from orchestrator.definitions.rules import Editor
from orchestrator.definitions.service import DefinitionService
from state.model.definitions import DefinitionDamaged, DefinitionKey, DefinitionVersion

_AT_ONCE: Final = 50
_MOST_SEEN: Final = 5000
_MOST_READ: Final = 200
"""Versions and documents looked through for one page, so that a filter that fits nothing does not read the whole store."""


@dataclass(frozen=True)
class Listed:
    version: DefinitionVersion
    head: DefinitionKey


@dataclass(frozen=True)
class Place:
    """After this version of this key, or after all of them for version 0."""

    key: str
    version: int = 0


@dataclass(frozen=True)
class Page:
    """By key, the last version first; `end` is None at the end."""

    found: tuple[Listed, ...]
    end: Place | None


async def list_page(service: DefinitionService, editor: Editor, kind: str, list_query: ListQuery, begin: Place | None) -> Page:
    """The page may be shorter than the limit though others follow."""
    fitting: list[Listed] = []
    seen, read, place = 0, 0, begin
    while heads := await _list_heads(service, editor, kind, place):
        for head in heads:
            for version in await service.list_versions(editor, kind, head.key) if _may_fit(head, list_query) else ():
                if place is not None and place.key == head.key and version.version >= place.version > 0:
                    continue
                if len(fitting) == list_query.limit or seen == _MOST_SEEN or read == _MOST_READ:
                    return Page(tuple(fitting), place)
                seen, place = seen + 1, Place(head.key, version.version)
                if _fits(version, head, list_query):
                    read += 1
                    whole = await _read(service, editor, version)
                    fitting += [Listed(whole, head)] if _has_tag(whole, list_query.tag) else []
            place = Place(head.key)
    return Page(tuple(fitting), None)


async def _list_heads(service: DefinitionService, editor: Editor, kind: str, place: Place | None) -> list[DefinitionKey]:
    """The definition inside of which the place is comes first."""
    after = f"{kind}/{place.key}" if place is not None else ""
    heads = await service.list_keys(editor, kind, after=after, limit=_AT_ONCE)
    return [await service.find_key(editor, kind, place.key), *heads] if place is not None and place.version else heads


def _may_fit(head: DefinitionKey, list_query: ListQuery) -> bool:
    return not list_query.published or (head.enabled and head.active_version > 0)


def _fits(version: DefinitionVersion, head: DefinitionKey, list_query: ListQuery) -> bool:
    needle = list_query.q.casefold()
    is_usable = version.active and head.enabled
    return (
        (needle in version.title.casefold() or needle in version.key.casefold())
        and list_query.status in {None, version.status.upper()}
        and list_query.active in {None, version.active}
        and list_query.published in {None, is_usable}
    )


async def _read(service: DefinitionService, editor: Editor, version: DefinitionVersion) -> DefinitionVersion:
    """Without its document if that is damaged, so that the others can still be listed."""
    try:
        return await service.find_by_id(editor, version.kind, version.id)
    except DefinitionDamaged:
        return version


def _has_tag(version: DefinitionVersion, tag: str) -> bool:
    if not tag:
        return True
    metadata = version.document.get("metadata") if isinstance(version.document, Mapping) else None
    tags = metadata.get("tags") if isinstance(metadata, Mapping) else None
    return isinstance(tags, list) and tag.casefold() in {str(one).casefold() for one in tags}
