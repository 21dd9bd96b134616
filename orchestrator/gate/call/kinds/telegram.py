"""The kind `telegram`: messages to chats that are known. Pure.

Which chats are known is not said by the policy alone: its performer knows the people with access, and refuses others before any card.
"""

from typing import Final

from orchestrator.gate.call.kinds.base import EffectKind
from orchestrator.gate.call.kinds.file import normalize_with_path
from orchestrator.gate.call.kinds.telegram_methods import KIND, METHODS

TELEGRAM: Final = EffectKind(name=KIND, methods=METHODS, origin="definition", setting="TELEGRAM_BOT_TOKEN", normalize=normalize_with_path)
