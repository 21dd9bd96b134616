"""Questions that the program answers itself, with the rights of the person who asks. Reads only, always open."""

import re
from typing import Any, Final

from orchestrator.domain.own_reads import DAY, DOCUMENTS, HELP, REPORT
from orchestrator.gate.call.effect import Target
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.knowledge_methods import (
    KIND,
    LOCALE,
    METHODS,
    PERSON,
    QUESTION,
    RECORD,
    RECORDS,
    ROLE,
    SEES,
    ZONE,
)
from orchestrator.gate.call.params import build_refusal
from state.stored import JsonObject

_LONGEST_ID: Final = 9
_SMART: Final = re.compile(r"item:[1-9][0-9]{0,8}", re.ASCII)


def _normalize_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    if request.method.spec.name == HELP:
        return validate_params(request, proposed)
    if request.method.spec.name == DOCUMENTS:
        return validate_params(request, {**proposed, PERSON: request.person, ROLE: request.role})
    if request.method.spec.name == DAY:
        return validate_params(request, {**proposed, PERSON: request.person})
    if request.method.spec.name == REPORT:
        # What is normalized already holds its question under a name of its own.
        question = proposed[QUESTION] if isinstance(proposed.get(QUESTION), dict) else dict(proposed)
        sees = "all" if request.sees is None else sorted(request.sees)
        whose = {PERSON: request.person, ZONE: request.zone, LOCALE: request.locale, SEES: sees}
        return validate_params(request, {QUESTION: question, **whose})
    by_kind = {name: value for name, value in proposed.items() if name in RECORDS}
    rest = {name: value for name, value in proposed.items() if name not in RECORDS}
    if len(by_kind) + (RECORD in rest) != 1:
        raise build_refusal("gate-param-invalid", param=RECORD, expected=f"one record, as one of {', '.join(RECORDS)}")
    record = _parse_record(*next(iter(by_kind.items()))) if by_kind else rest[RECORD]
    checked = validate_params(request, {**rest, RECORD: record, PERSON: request.person, ZONE: request.zone, LOCALE: request.locale})
    _find_targets(checked)
    return checked


def _find_targets(params: JsonObject) -> tuple[Target, ...]:
    if RECORD not in params:
        return ()
    kind, _, number = str(params[RECORD]).rpartition(":")
    _parse_record(kind if kind in RECORDS or _SMART.fullmatch(kind) else "", number)
    return ((kind, int(number)),)


def _parse_record(kind: str, value: object) -> str:
    number = str(value) if not isinstance(value, bool) else ""
    if not kind or not (number.isascii() and number.isdecimal() and len(number) <= _LONGEST_ID and int(number)):
        raise build_refusal("gate-param-invalid", param=kind or RECORD, expected="the number of one record")
    return f"{kind}:{int(number)}"


KNOWLEDGE: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="label",
    normalize=_normalize_params,
    find_targets=_find_targets,
    always_open=frozenset(METHODS),
    in_shadow=frozenset({HELP, DOCUMENTS}),
)
