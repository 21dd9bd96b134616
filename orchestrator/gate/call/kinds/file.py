"""Text files of one folder. Replacing what a file holds asks; deleting must be opened by its own name. Pure."""

from collections.abc import Iterator
from typing import Any, Final

from orchestrator.domain.file_path import PathRefused, parse_folder
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.file_methods import KIND, METHODS, WRITE
from orchestrator.gate.call.params import build_refusal
from orchestrator.gate.call.reasons import ask
from state.stored import JsonObject


def normalize_with_path(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    path = proposed.get("path")
    if isinstance(path, str):
        try:
            parse_folder(path)
        except PathRefused as refused:
            raise build_refusal(refused.code, method=request.method.spec.name, why=str(refused)) from None
    return validate_params(request, proposed)


def _ask_about_replacing(call: Call, facts: Facts) -> Iterator[Notice]:
    if call.method == WRITE and any(image is not None for image in facts.images.values()):
        yield ask("gate-file-replaces")


FILE: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="document",
    setting="FILES_DIR",
    normalize=normalize_with_path,
    collect_reasons=_ask_about_replacing,
)
