"""Puts the fields of a record into words outside of a card: their titles and values as a card would show them."""

from collections.abc import Sequence

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.drift import find_title, format_record_value
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.ports import Names
from orchestrator.gate.preview.format_values import Reader
from state.stored import JsonObject


async def describe_field(
    method: str, key: str, records: Sequence[JsonObject], *, actor: Actor, names: Names, catalogue: Catalogue
) -> tuple[str, list[str]] | None:
    """Return (title of the field, its value in each of the records as a text on one line).

    `method` is the one with which a field of such a record is changed. None if the catalogue does not know it, or if the portal does not
    give the names that are needed.
    """
    spec = catalogue.find(method)
    if spec is None:
        return None
    call = Call(kind="bitrix", method=method, params={}, spec=spec, classes=(), portal="", entity=spec.entity, entities=catalogue.entities)
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    try:
        return await find_title(call, key, reader), [await format_record_value(call, key, one, reader) for one in records]
    except BitrixError:
        return None
