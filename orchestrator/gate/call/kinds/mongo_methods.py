"""The methods of the kind `mongo`, each with the class of its parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bitrix.catalogue.catalogue import Method, MethodClass, Verb
from orchestrator.gate.call.kinds import mongo_params
from orchestrator.gate.call.kinds.mongo_params import MongoParams

KIND: Final = "mongo"
ENTITY: Final = "document"


@dataclass(frozen=True, kw_only=True)
class MongoMethod:
    """A method of the kind: its row, and the class of its parameters."""

    spec: Method
    params: type[MongoParams]


def _build_method(name: str, letter: MethodClass, verb: Verb, params: type[MongoParams]) -> MongoMethod:
    spec = Method(
        name=f"{KIND}.{name}",
        classes=(letter,),
        verb=verb,
        entity=ENTITY,
        idempotent=letter == "R",
        fields_at="",
        params=("*",),
        owner="self",
    )
    return MongoMethod(spec=spec, params=params)


METHODS: Final[Mapping[str, MongoMethod]] = {
    method.spec.name: method
    for method in (
        _build_method("find_one", "R", "get", mongo_params.FindOne),
        _build_method("find_many", "R", "list", mongo_params.FindMany),
        _build_method("count", "R", "get", mongo_params.Count),
        _build_method("insert_one", "W", "add", mongo_params.InsertOne),
        _build_method("insert_many", "W", "add", mongo_params.InsertMany),
        _build_method("update_one", "W", "update", mongo_params.UpdateOne),
        _build_method("update_many", "W", "update", mongo_params.UpdateMany),
        _build_method("delete_one", "D", "delete", mongo_params.DeleteOne),
        _build_method("delete_many", "D", "delete", mongo_params.DeleteMany),
    )
}
MANY: Final = frozenset({f"{KIND}.update_many", f"{KIND}.delete_many"})


def find_method(name: str) -> Method | None:
    """Return the row of a method, named with its kind or without: mongo.find_one, find_one."""
    found = METHODS.get(name) or METHODS.get(f"{KIND}.{name}")
    return found.spec if found else None
