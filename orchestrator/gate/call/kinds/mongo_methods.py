"""The methods of the kind `mongo`, each with the class of its parameters."""

from collections.abc import Mapping
from typing import Final

from orchestrator.gate.call.kinds import mongo_params
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method

KIND: Final = "mongo"
ENTITY: Final = "document"


METHODS: Final[Mapping[str, KindMethod]] = {
    method.spec.name: method
    for method in (
        build_kind_method("mongo.find_one", "R", "get", mongo_params.FindOne, entity=ENTITY),
        build_kind_method("mongo.find_many", "R", "list", mongo_params.FindMany, entity=ENTITY),
        build_kind_method("mongo.count", "R", "get", mongo_params.Count, entity=ENTITY),
        build_kind_method("mongo.insert_one", "W", "add", mongo_params.InsertOne, entity=ENTITY),
        build_kind_method("mongo.insert_many", "W", "add", mongo_params.InsertMany, entity=ENTITY, counted="documents"),
        build_kind_method("mongo.update_one", "W", "update", mongo_params.UpdateOne, entity=ENTITY),
        build_kind_method("mongo.update_many", "W", "update", mongo_params.UpdateMany, entity=ENTITY),
        build_kind_method("mongo.delete_one", "D", "delete", mongo_params.DeleteOne, entity=ENTITY),
        build_kind_method("mongo.delete_many", "D", "delete", mongo_params.DeleteMany, entity=ENTITY),
    )
}
MANY: Final = frozenset({f"{KIND}.update_many", f"{KIND}.delete_many"})
