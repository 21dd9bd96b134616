from collections.abc import Mapping
from typing import Final

from orchestrator.domain.taint import Origin
from orchestrator.gate.call.kinds.base import EffectKind
from orchestrator.gate.call.kinds.bulk import BULK_KIND
from orchestrator.gate.call.kinds.file import FILE
from orchestrator.gate.call.kinds.http import HTTP
from orchestrator.gate.call.kinds.knowledge import KNOWLEDGE
from orchestrator.gate.call.kinds.mongo import MONGO
from orchestrator.gate.call.kinds.order import ORDER
from orchestrator.gate.call.kinds.schedule import SCHEDULE
from orchestrator.gate.call.kinds.telegram import TELEGRAM

KINDS: Final[Mapping[str, EffectKind]] = {kind.name: kind for kind in (BULK_KIND, FILE, HTTP, KNOWLEDGE, MONGO, ORDER, SCHEDULE, TELEGRAM)}


def find_origin(method: str) -> Origin | None:
    """Where the answers of a method come from; None for a method of the portal."""
    return next((kind.origin for kind in KINDS.values() if method in kind.methods), None)
