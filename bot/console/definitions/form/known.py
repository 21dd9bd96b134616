"""What the fields of a form choose among, as the person sees it at this moment."""

import asyncio
import logging
from typing import Final

from bot.console.definitions.work import build_editor
from bot.console.visit import Visit
from bot.plugins.choices import OWN_FIELDS, Choice, Known, Published, list_fields, list_methods, offer_nothing
from bot.plugins.kind_face import KindFace
from state.model.definitions import DefinitionDamaged, DefinitionMissing

log = logging.getLogger(__name__)

MOST_PUBLISHED: Final = 500
_PATIENCE: Final = 2.0
"""Seconds: a portal that does not answer keeps no form away."""


async def load_known(visit: Visit, face: KindFace) -> Known:
    """Raises VisitOver, StoreError."""
    if face.open_choices is offer_nothing:
        return Known(say=visit.say)
    published = {kind: await _load_published(visit, kind, is_whole=is_whole) for kind, is_whole in face.offers.items()}
    deps = visit.services.orchestrator.tools.gate.deps
    own = await _load_own_fields(visit) if face.names_fields else {}
    fields = list_fields(deps.catalogue, visit.tr.locale, own)
    return Known(say=visit.say, published=published, methods=list_methods(deps.catalogue, visit.tr), fields=fields)


async def _load_published(visit: Visit, kind: str, *, is_whole: bool) -> tuple[Published, ...]:
    """Those that are on, by title."""
    service, editor = visit.services.definitions, build_editor(visit)
    if kind not in service.list_kinds(editor):
        return ()
    published: list[Published] = []
    for head in await service.list_keys(editor, kind, limit=MOST_PUBLISHED):
        if not head.enabled or not head.active_version:
            continue
        if not is_whole:
            published.append(Published(key=head.key, title=head.title, version=head.active_version))
            continue
        try:
            one = await service.find_version(editor, kind, head.key, head.active_version)
        except (DefinitionDamaged, DefinitionMissing):
            continue  # it cannot be used, and the others can
        published.append(Published(key=one.key, title=one.title, version=one.version, id=one.id, document=one.document))
    return tuple(sorted(published, key=lambda one: (one.title.casefold(), one.key)))


async def _load_own_fields(visit: Visit) -> dict[str, list[Choice]]:
    """None where the portal does not answer: the catalogue's are offered then."""
    reference = visit.services.orchestrator.tools.gate.deps.records.reference
    own: dict[str, list[Choice]] = {}
    try:
        async with asyncio.timeout(_PATIENCE):
            for kind in OWN_FIELDS:
                fields = await reference.load_fields(kind)
                own[kind] = [Choice(code, field.title or code) for code, field in fields.items()]
    except Exception:
        log.info("the fields of the portal are not offered in a form", exc_info=True, extra={"action": "fields_not_offered"})
    return own
