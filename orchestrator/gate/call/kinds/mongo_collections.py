"""The part of the policy about the Mongo database: the collections that effects may reach, and what cards call them."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from orchestrator.domain.frozen import Frozen


class MongoCollection(Frozen):
    """What cards call a collection and its fields; what has no title is called by its own name."""

    title: str = Field(default="", max_length=80)
    fields: dict[str, str] = Field(default_factory=dict)
    """The titles of its fields by their names, those of inner fields by their paths, such as address.city."""


def _parse_collections(value: object) -> object:
    """Return the collections as a table; those of a plain list of names have no titles."""
    if isinstance(value, list | tuple | set | frozenset):
        return {name: {} for name in value}
    return {name: {} if row is None else row for name, row in value.items()} if isinstance(value, Mapping) else value


MongoCollections = Annotated[dict[str, MongoCollection], BeforeValidator(_parse_collections)]
