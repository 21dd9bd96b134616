"""What these parameters' classes accept is what may be sent, nothing else."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Self
from urllib.parse import urlencode

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator

from orchestrator.domain.frozen import LateModel
from orchestrator.domain.http_address import OddAddress, parse_address
from orchestrator.gate.call.kinds.method import build_kind_method
from state.canonical import NotCanonical, dumps

MAX_BODY: Final = 100_000
MAX_NAMES: Final = 50
MAX_QUERY: Final = 8_000
"""As it is sent; most servers refuse longer ones."""
_HEADERS: Final = frozenset({"accept", "accept-language", "if-match", "if-none-match", "prefer"})
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}", re.ASCII)
_LONGEST_VALUE: Final = 500
MARK: Final = "ORIGIN_ID"
"""Sent as Idempotency-Key: the other side can tell a repetition."""


def _check_url(text: str) -> str:
    try:
        return str(parse_address(text))
    except OddAddress as error:
        raise ValueError(str(error)) from None


def _check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    by_name: dict[str, str] = {}
    for name, value in headers.items():
        if name.lower() not in _HEADERS:
            msg = f"the header {name[:60]!r} cannot be set here; known: {', '.join(sorted(_HEADERS))}"
            raise ValueError(msg)
        if not value.isascii() or not value.isprintable() or len(value) > _LONGEST_VALUE:
            msg = f"the value of {name} is one line of ASCII signs, up to {_LONGEST_VALUE}"
            raise ValueError(msg)
        if name.lower() in by_name:
            msg = f"the header {name} is given twice"
            raise ValueError(msg)
        by_name[name.lower()] = value
    return by_name


def _check_credential(name: str) -> str:
    if name and _NAME.fullmatch(name) is None:
        msg = "the name of an entry in HTTP_CREDENTIALS_FILE"
        raise ValueError(msg)
    return name


def _check_json(value: Any) -> Any:
    try:
        size = len(dumps(value))
    except (NotCanonical, RecursionError) as error:
        msg = f"this is no JSON: {error}"
        raise ValueError(msg) from None
    if size > MAX_BODY:
        msg = f"it has more than {MAX_BODY} characters"
        raise ValueError(msg)
    return value


def format_query(query: Mapping[str, Any]) -> str:

    def write(value: object) -> str:
        return ("true" if value else "false") if isinstance(value, bool) else str(value)

    return urlencode(
        {name: list(map(write, value)) if isinstance(value, list) else write(value) for name, value in query.items()}, doseq=True
    )


def _check_query(query: dict[str, Any]) -> dict[str, Any]:
    _check_json(query)
    if len(format_query(query)) > MAX_QUERY:
        msg = f"it has more than {MAX_QUERY} characters as it is sent; send long data as json"
        raise ValueError(msg)
    return query


QueryValue = StrictStr | StrictBool | StrictInt | StrictFloat
Query = Annotated[dict[StrictStr, QueryValue | list[QueryValue]], Field(max_length=MAX_NAMES), AfterValidator(_check_query)]
Headers = Annotated[dict[StrictStr, StrictStr], AfterValidator(_check_headers)]


class HttpParams(LateModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    url: Annotated[StrictStr, AfterValidator(_check_url)]
    query: Query = Field(default_factory=dict)
    headers: Headers = Field(default_factory=dict)
    credential: Annotated[StrictStr, AfterValidator(_check_credential)] = ""
    """A name in the settings: the secret itself never stands in an effect."""


class Get(HttpParams):
    """Read what stands at an address."""


class Send(HttpParams):
    """Send something to an address, as JSON or as text."""

    json_body: Annotated[Any, AfterValidator(_check_json)] = Field(default=None, alias="json")
    text: Annotated[StrictStr, Field(max_length=MAX_BODY)] = ""
    ORIGIN_ID: StrictStr = ""

    @model_validator(mode="after")
    def _check_one_body(self) -> Self:
        if self.json_body is not None and self.text:
            msg = "either json or text is sent, not both"
            raise ValueError(msg)
        return self


class Delete(HttpParams):
    """Delete what stands at an address."""

    ORIGIN_ID: StrictStr = ""


KIND: Final = "http"
ENTITY: Final = "page"
METHODS: Final = {
    method.spec.name: method
    for method in (
        build_kind_method("http.get", "R", "get", Get, entity=ENTITY),
        build_kind_method("http.post", "N", "action", Send, entity=ENTITY),
        build_kind_method("http.put", "N", "action", Send, entity=ENTITY),
        build_kind_method("http.patch", "N", "action", Send, entity=ENTITY),
        build_kind_method("http.delete", "D", "delete", Delete, entity=ENTITY),
    )
}
