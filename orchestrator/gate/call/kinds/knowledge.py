"""The kind `knowledge`: questions that the program answers itself: catalogue of methods, journal, documents. Reads alone, always open.

What a method needs is told in every mode, since it is no fact about the company, and so is what documents say, which is no matter of the
portal. Who changed a record is told with the rights of the person who asks, which the performer checks against the record; documents are
searched with the role of that person.
"""

import re
from typing import Any, Final

from orchestrator.domain.own_reads import DOCUMENTS, HELP
from orchestrator.gate.call.effect import Target
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.knowledge_methods import KIND, LOCALE, METHODS, PERSON, RECORD, RECORDS, ROLE, ZONE
from orchestrator.gate.call.params import build_refusal
from state.stored import JsonObject

_LONGEST_ID: Final = 9
_SMART: Final = re.compile(r"item:[1-9][0-9]{0,8}", re.ASCII)


def _normalize_params(request: KindRequest, given: JsonObject) -> dict[str, Any]:
    if request.method.spec.name == HELP:
        return validate_params(request, given)
    if request.method.spec.name == DOCUMENTS:
        return validate_params(request, {**given, PERSON: request.person, ROLE: request.role})
    named = {name: value for name, value in given.items() if name in RECORDS}
    rest = {name: value for name, value in given.items() if name not in RECORDS}
    if len(named) + (RECORD in rest) != 1:
        raise build_refusal("gate-param-invalid", param=RECORD, expected=f"one record, as one of {', '.join(RECORDS)}")
    record = _parse_record(*next(iter(named.items()))) if named else rest[RECORD]
    made = validate_params(request, {**rest, RECORD: record, PERSON: request.person, ZONE: request.zone, LOCALE: request.locale})
    _find_targets(made)
    return made


def _find_targets(params: JsonObject) -> tuple[Target, ...]:
    """Return the record that a history is asked of. Raises Refusal for a text that names none."""
    if RECORD not in params:
        return ()
    kind, _, number = str(params[RECORD]).rpartition(":")
    _parse_record(kind if kind in RECORDS or _SMART.fullmatch(kind) else "", number)
    return ((kind, int(number)),)


def _parse_record(kind: str, value: object) -> str:
    """Return the record's key ("deal:481"). Raises Refusal for anything but the number of one record."""
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
