"""The performer knows the people with access, and refuses other chats before any card. Pure."""

from typing import Final

from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.kinds.base import EffectKind
from orchestrator.gate.call.kinds.file import normalize_with_path
from orchestrator.gate.call.kinds.telegram_methods import FILE, KIND, METHODS

TELEGRAM: Final = EffectKind(name=KIND, methods=METHODS, origin="definition", setting="TELEGRAM_BOT_TOKEN", normalize=normalize_with_path)


def find_file_place(call: Call) -> str | None:
    """In the before-image: a path, or the name of a file that a run keeps."""
    run_file = call.params.get(FILE)
    return f"{FILE}:{run_file['name']}" if run_file else call.params.get("path")
