"""The marks by which this program finds records again that it created: two fields that name the program and the effect."""

from collections.abc import Mapping
from typing import Final

from orchestrator.gate.call.serialization import EFFECT_ID_LENGTH

ORIGINATOR: Final = "sdelka"
"""The value of the field that names the external system from which a record came."""


def find_origin_effect(record: Mapping[str, object]) -> str:
    """Return the effect id of the call with which the bot created this record; "" if the bot did not create it."""

    def field(name: str, other: str) -> str:
        return str(record.get(name) or record.get(other) or "")

    if field("ORIGINATOR_ID", "originatorId") != ORIGINATOR:
        return ""
    return field("ORIGIN_ID", "originId")[:EFFECT_ID_LENGTH]
