from collections.abc import Mapping
from typing import Final

from orchestrator.gate.call.serialization import EFFECT_ID_LENGTH

ORIGINATOR: Final = "sdelka"


def find_origin_effect(record: Mapping[str, object]) -> str:
    """The call that created this record; "" if the bot did not."""

    def field(name: str, other: str) -> str:
        return str(record.get(name) or record.get(other) or "")

    if field("ORIGINATOR_ID", "originatorId") != ORIGINATOR:
        return ""
    return field("ORIGIN_ID", "originId")[:EFFECT_ID_LENGTH]
