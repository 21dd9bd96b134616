from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from orchestrator.domain.frozen import Frozen
from orchestrator.domain.http_address import parse_listed_site


class OpenedParty(Frozen):
    """What cards call a collection or host and its fields; by default its own name."""

    title: str = Field(default="", max_length=80)
    fields: dict[str, str] = Field(default_factory=dict)
    """Inner fields by their paths, such as address.city."""


def _parse_parties(value: object) -> object:
    if isinstance(value, list | tuple | set | frozenset):
        return {name: {} for name in value}
    return {name: {} if row is None else row for name, row in value.items()} if isinstance(value, Mapping) else value


def _check_hosts(hosts: dict[str, OpenedParty]) -> dict[str, OpenedParty]:
    for entry in hosts:
        parse_listed_site(entry)  # OddSite is a ValueError, which says what is wrong with the entry
    return hosts


MongoCollections = Annotated[dict[str, OpenedParty], BeforeValidator(_parse_parties)]
HttpHosts = Annotated[dict[str, OpenedParty], BeforeValidator(_parse_parties), AfterValidator(_check_hosts)]
