"""What is checked about the calls of the kinds in `methods.KINDS`: their parameters, and what is refused or asked. Pure."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from orchestrator.domain.file_path import PathRefused
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.kinds import file_methods
from orchestrator.gate.call.kinds.methods import KINDS
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask, refuse
from state.stored import JsonObject


def normalize_params(kind: str, method: str, given: JsonObject) -> dict[str, Any]:
    """Return the parameters as they will be sent. Raises Refusal with every mistake. Idempotent."""
    try:
        return KINDS[kind][method].params.model_validate(given).model_dump(mode="json", by_alias=True, exclude_defaults=True)
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


def find_refusal(call: Call, policy: Policy) -> Refuse | None:
    """Return why the policy does not allow the call of an opened kind; None if it may go on.

    Which chats are known is not said by the policy alone, so the performer refuses the others before any card.
    """
    if "D" in call.classes and not policy.is_listed(policy.open_methods, call.method):
        return refuse("gate-delete", method=call.method)
    return None


def check_read_facts(call: Call, facts: Facts) -> Refuse | None:
    """Return a refusal for a change of which the performer did not read what it concerns, so that no card can show it."""
    if call.kind not in KINDS or call.reads_only or facts.images:
        return None
    return refuse("gate-kind-absent", kind=call.kind, method=call.method)


def collect_ask_reasons(call: Call, facts: Facts) -> Iterator[Notice]:
    """Yield the reason to ask about a call that replaces what a file holds."""
    if call.method == file_methods.WRITE and any(image is not None for image in facts.images.values()):
        yield ask("gate-file-replaces")
