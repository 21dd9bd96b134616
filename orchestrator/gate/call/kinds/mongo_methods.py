"""What these parameters' classes accept is what may reach the database, nothing else.

Sorting and projection are lists of names, since the canonical form of a stored call sorts keys.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, StrictInt, StrictStr

from orchestrator.domain.frozen import LateModel
from orchestrator.gate.call.kinds.method import KindMethod, build_kind_method
from orchestrator.gate.call.kinds.mongo_queries import (
    check_document,
    check_field_name,
    check_no_null,
    check_query,
    check_size,
    check_update,
)

MAX_FOUND: Final = 100
USUAL_FOUND: Final = 20
MAX_INSERTED: Final = 100
MAX_NAMES: Final = 50


def _check_collection(name: str) -> str:
    if name.startswith(("system.", ".")) or name.endswith(".") or not name.isprintable() or "$" in name or " " in name:
        msg = "this is no name of a collection"
        raise ValueError(msg)
    return name


def _check_any_query(query: Mapping[str, Any]) -> Mapping[str, Any]:
    check_size(query, "query")
    check_query(query)
    return query


def _check_aimed_query(query: Mapping[str, Any]) -> Mapping[str, Any]:
    if not query:
        msg = "it is empty, which means every document; say which ones"
        raise ValueError(msg)
    _check_any_query(query)
    check_no_null(query)
    return query


def _check_new(document: Mapping[str, Any]) -> Mapping[str, Any]:
    check_size(document, "document")
    check_document(document)
    return document


def _check_changes(update: Mapping[str, Any]) -> Mapping[str, Any]:
    check_size(update, "update")
    check_update(update)
    return update


def _check_sort(name: str) -> str:
    check_field_name(name.removeprefix("-"), "sort")
    return name


def _check_projected(name: str) -> str:
    check_field_name(name, "fields")
    return name


Collection = Annotated[
    StrictStr,
    Field(min_length=1, max_length=120, validation_alias=AliasChoices("collection", "collection_name")),
    AfterValidator(_check_collection),
]
Document = Annotated[dict[StrictStr, Any], AfterValidator(_check_new)]
AnyQuery = Annotated[dict[StrictStr, Any], AfterValidator(_check_any_query)]
AimedQuery = Annotated[dict[StrictStr, Any], AfterValidator(_check_aimed_query)]
Update = Annotated[dict[StrictStr, Any], Field(validation_alias=AliasChoices("update", "update_data")), AfterValidator(_check_changes)]
SortName = Annotated[StrictStr, AfterValidator(_check_sort)]
FieldName = Annotated[StrictStr, AfterValidator(_check_projected)]


class MongoParams(LateModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    collection: Collection


class FindOne(MongoParams):
    query: AnyQuery = Field(default_factory=dict)
    sort: tuple[SortName, ...] = Field(default=(), max_length=MAX_NAMES)
    """Names of fields, the most important first; "-created" sorts downwards."""
    fields: tuple[FieldName, ...] = Field(default=(), max_length=MAX_NAMES)


class FindMany(FindOne):
    limit: Annotated[StrictInt, Field(ge=1, le=MAX_FOUND)] = USUAL_FOUND


class Count(MongoParams):
    query: AnyQuery = Field(default_factory=dict)


class InsertOne(MongoParams):
    """Its `_id` is set by the program."""

    document: Document


class InsertMany(MongoParams):
    documents: Annotated[list[Document], Field(min_length=1, max_length=MAX_INSERTED)]


class UpdateOne(MongoParams):
    """Change the one document that matches; if several match, none is changed."""

    query: AimedQuery
    update: Update


class UpdateMany(UpdateOne):
    """Change all documents that match."""


class DeleteOne(MongoParams):
    """Delete the one document that matches; if several match, none is deleted."""

    query: AimedQuery


class DeleteMany(DeleteOne):
    """Delete all documents that match."""


KIND: Final = "mongo"
ENTITY: Final = "document"


METHODS: Final[Mapping[str, KindMethod]] = {
    method.spec.name: method
    for method in (
        build_kind_method("mongo.find_one", "R", "get", FindOne, entity=ENTITY),
        build_kind_method("mongo.find_many", "R", "list", FindMany, entity=ENTITY),
        build_kind_method("mongo.count", "R", "get", Count, entity=ENTITY),
        build_kind_method("mongo.insert_one", "W", "add", InsertOne, entity=ENTITY),
        build_kind_method("mongo.insert_many", "W", "add", InsertMany, entity=ENTITY, counted="documents"),
        build_kind_method("mongo.update_one", "W", "update", UpdateOne, entity=ENTITY),
        build_kind_method("mongo.update_many", "W", "update", UpdateMany, entity=ENTITY),
        build_kind_method("mongo.delete_one", "D", "delete", DeleteOne, entity=ENTITY),
        build_kind_method("mongo.delete_many", "D", "delete", DeleteMany, entity=ENTITY),
    )
}
MANY: Final = frozenset({f"{KIND}.update_many", f"{KIND}.delete_many"})
