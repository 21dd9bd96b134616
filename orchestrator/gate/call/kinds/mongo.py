"""The policy opens collections; a deletion must be opened by its own name; many documents ask. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest, validate_params
from orchestrator.gate.call.kinds.mongo_methods import KIND, MANY, METHODS
from orchestrator.gate.call.kinds.mongo_queries import find_odd_names
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask, refuse
from state.stored import JsonObject

ID: Final = "_id"
_SHOWN_MISTAKES: Final = 3


def normalize_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    """Idempotent for the same effect, also in `_id`. Raises Refusal, also for a field's name from outside that could be an operator."""
    if odd := find_odd_names(request.keys):
        raise Refusal(refuse("gate-mongo-operator", names=", ".join(odd[:_SHOWN_MISTAKES])))
    params = validate_params(request, _drop_own_ids(proposed, request.effect_id))
    if "document" in params:
        params["document"] = {ID: request.effect_id, **params["document"]}
    if "documents" in params:
        params["documents"] = [{ID: f"{request.effect_id}-{number}", **document} for number, document in enumerate(params["documents"], 1)]
    return params


def check_collection(call: Call, policy: Policy) -> Refuse | None:
    if call.params.get("collection") in policy.mongo_collections:
        return None
    return refuse("gate-mongo-collection", collection=call.params.get("collection"))


def list_titles(call: Call, policy: Policy) -> Mapping[str, str]:
    """Under "" stands the title of the collection itself."""
    mongo_collection = policy.mongo_collections.get(str(call.params.get("collection")))
    return {**mongo_collection.fields, "": mongo_collection.title} if mongo_collection is not None else {}


def collect_ask_reasons(call: Call, facts: Facts) -> Iterator[Notice]:
    if call.method in MANY:
        yield ask("gate-mongo-many", count=count_matches(facts))


def count_matches(facts: Facts) -> int:
    return sum(row.get("count", 1) for row in facts.images.values() if row is not None)


def _drop_own_ids(proposed: JsonObject, effect_id: str) -> dict[str, Any]:
    params = dict(proposed)
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
    documents = [params["document"]] if "document" in params else params.get("documents")
    if documents is None:
        return params
    plain = [{name: value for name, value in one.items() if name != ID} for one in documents]
    return {**{name: value for name, value in params.items() if name not in {"document", "documents"}}, "documents": plain}


MONGO: Final = EffectKind(
    name=KIND,
    methods=METHODS,
    origin="database",
    setting="MONGO_URL",
    normalize=normalize_params,
    drop_marks=_drop_ids,
    guard=check_collection,
    collect_reasons=collect_ask_reasons,
    list_titles=list_titles,
)
