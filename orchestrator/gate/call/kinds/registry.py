"""The kinds of effects whose methods, parameters and rules are declared in one place each. Pure.

A kind is a module of methods here, a builder of card lines in `approve/kind_lines.py`, and a performer that the composition root hands in.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from bitrix.catalogue.catalogue import Method
from orchestrator.domain.file_path import PathRefused
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.kinds import file_methods, telegram_methods
from orchestrator.gate.call.kinds.methods import KindMethod
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.reasons import ask, refuse
from state.stored import JsonObject

KINDS: Final[Mapping[str, Mapping[str, KindMethod]]] = {
    file_methods.KIND: file_methods.METHODS,
    telegram_methods.KIND: telegram_methods.METHODS,
}
"""The methods of each kind by their full names."""


def find_method(kind: str, name: str) -> Method | None:
    """Return the row of a method, named with its kind or without: file.read, read."""
    methods = KINDS.get(kind, {})
    found = methods.get(name.strip()) or methods.get(f"{kind}.{name.strip()}")
    return found.spec if found else None


def normalize_params(kind: str, method: str, given: JsonObject) -> dict[str, Any]:
    """Return the parameters as they will be sent. Raises Refusal with every mistake. Idempotent."""
    try:
        return KINDS[kind][method].params.model_validate(given).model_dump(mode="json")
    except ValidationError as error:
        raise _build_refusal(method, error) from None


def _build_refusal(method: str, error: ValidationError) -> Refusal:
    found = error.errors(include_url=False, include_input=False)
    for one in found:
        cause = one.get("ctx", {}).get("error")
        if isinstance(cause, PathRefused):
            return build_refusal(cause.code, why=str(cause), method=method)
    said = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg'].removeprefix('Value error, ')}" for one in found]
    return build_refusal("gate-kind-params", method=method, why="; ".join(said), param=str(found[0]["loc"][0]) if found[0]["loc"] else "?")


def check_read_facts(call: Call, facts: Facts) -> Refuse | None:
    """Return a refusal for a change of which the performer did not read what it concerns, so that no card can show it."""
    if call.kind not in KINDS or call.reads_only or facts.images:
        return None
    return refuse("gate-kind-absent", kind=call.kind, method=call.method)


def collect_ask_reasons(call: Call, facts: Facts) -> Iterator[Notice]:
    """Yield the reason to ask about a call that replaces what a file holds."""
    if call.method == file_methods.WRITE and any(image is not None for image in facts.images.values()):
        yield ask("gate-file-replaces")
