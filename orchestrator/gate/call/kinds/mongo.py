"""The kind `mongo`: how parameters are checked and completed, and what is refused or asked about its calls. Pure.

Reading needs the policy to open the kind and the collection. A deletion must be opened by its own name. What concerns many documents asks,
however it was opened.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.kinds.mongo_methods import KIND, MANY, METHODS
from orchestrator.gate.call.kinds.mongo_queries import find_odd_names
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask, refuse
from state.canonical import dumps, hash_text
from state.stored import JsonObject

ID: Final = "_id"
_SHOWN_MISTAKES: Final = 3


def normalize_params(method: str, given: JsonObject, *, effect_id: str, keys: frozenset[str]) -> dict[str, Any]:
    """Return the parameters as they will be sent, new documents with their `_id`.

    `keys` are the names of fields in objects that came from outside as whole values. Raises Refusal with every mistake, and if a name among
    `keys` could act in the database as anything but a name. Idempotent for the same effect.
    """
    if odd := find_odd_names(keys):
        raise build_refusal("gate-mongo-operator", names=", ".join(odd[:_SHOWN_MISTAKES]))
    try:
        made = METHODS[method].params.model_validate(_drop_own_ids(given, effect_id))
    except ValidationError as error:
        raise _build_params_refusal(method, error) from None
    params: dict[str, Any] = made.model_dump(mode="json")
    if "document" in params:
        params["document"] = {ID: effect_id, **params["document"]}
    if "documents" in params:
        params["documents"] = [{ID: f"{effect_id}-{number}", **one} for number, one in enumerate(params["documents"], 1)]
    return params


def build_essence(method: str, params: JsonObject) -> str:
    """Return the checksum of what a call asks for, without the `_id` that differs with each call."""
    return hash_text(dumps([KIND, method, _drop_ids(params)]))


def find_refusal(call: Call, policy: Policy) -> Refuse | None:
    """Return why the policy or the database does not allow the call; None if it may go on."""
    if call.params.get("collection") not in policy.mongo_collections:
        return refuse("gate-mongo-collection", collection=call.params.get("collection"))
    if "D" in call.classes and not policy.is_listed(policy.open_methods, call.method):
        return refuse("gate-delete", method=call.method)
    return None


def collect_ask_reasons(call: Call, facts: Facts) -> Iterator[Notice]:
    """Yield the reason to ask about a call that concerns many documents, with their number."""
    if call.kind == KIND and call.method in MANY:
        yield ask("gate-mongo-many", count=count_matches(facts))


def count_matches(facts: Facts) -> int:
    """Return how many documents a call concerns, as they were read before it."""
    return sum(row.get("count", 1) for row in facts.images.values() if row is not None)


def _drop_own_ids(given: JsonObject, effect_id: str) -> dict[str, Any]:
    """Return the parameters without the ids that an earlier normalization of the same effect has added."""
    params = dict(given)
    document, documents = params.get("document"), params.get("documents")
    if isinstance(document, Mapping) and document.get(ID) == effect_id:
        params["document"] = {name: value for name, value in document.items() if name != ID}
    if isinstance(documents, list):
        params["documents"] = [
            {name: value for name, value in one.items() if name != ID}
            if isinstance(one, Mapping) and one.get(ID) == f"{effect_id}-{number}"
            else one
            for number, one in enumerate(documents, 1)
        ]
    return params


def _drop_ids(params: JsonObject) -> JsonObject:
    written = [params["document"]] if "document" in params else params.get("documents")
    if written is None:
        return params
    plain = [{name: value for name, value in one.items() if name != ID} for one in written]
    return {**{name: value for name, value in params.items() if name not in {"document", "documents"}}, "documents": plain}


def _build_params_refusal(method: str, error: ValidationError) -> Refusal:
    """Return the refusal that names each mistake with its place."""
    said = []
    for one in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in one["loc"])
        text = one["msg"].removeprefix("Value error, ")
        said.append(text if place and text.startswith(place.partition(".")[0]) else f"{place}: {text}")
    return build_refusal("gate-mongo-params", method=method, why="; ".join(said), param=said[0].partition(":")[0])
