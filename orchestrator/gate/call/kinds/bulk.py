"""Changes of many records, of which one frozen file is shown, approved and carried out; always open, always asked about."""

from collections.abc import Iterator
from typing import Any, Final

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.bulk_methods import KIND, MARK, METHODS, PERSON
from orchestrator.gate.call.reasons import ask
from state.stored import JsonObject


def _normalize_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    return validate_params(request, {**proposed, PERSON: request.person, MARK: request.effect_id})


def _drop_marks(params: JsonObject) -> JsonObject:
    return {name: value for name, value in params.items() if name != MARK}


def _ask_about_file(_call: Call, facts: Facts) -> Iterator[Notice]:
    file = facts.bulk
    yield ask("gate-bulk", count=len(file.items) if file is not None else 0)
    if file is not None:
        yield from file.reasons


BULK_KIND: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="label",
    normalize=_normalize_params,
    drop_marks=_drop_marks,
    collect_reasons=_ask_about_file,
    always_open=frozenset(METHODS),
)
