"""The kind `telegram`: messages to chats that are known. Pure.

Which chats are known is not said by the policy alone: its performer knows the people with access, and refuses others before any card.
"""

from typing import Final

from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.kinds.base import EffectKind
from orchestrator.gate.call.kinds.file import normalize_with_path
from orchestrator.gate.call.kinds.telegram_methods import FILE, KIND, METHODS

TELEGRAM: Final = EffectKind(name=KIND, methods=METHODS, origin="definition", setting="TELEGRAM_BOT_TOKEN", normalize=normalize_with_path)


def find_file_place(call: Call) -> str | None:
    """Return the name of the file that a call sends in its before-image: the path, or the name of one that a run keeps; None for none."""
    kept = call.params.get(FILE)
    return f"{FILE}:{kept['name']}" if kept else call.params.get("path")
