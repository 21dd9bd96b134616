"""Parses events that the portal posts, and checks their token, the only proof of where they come from."""

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import SecretStr

from bitrix.client.php_query import parse as parse_form
from bitrix.errors import QueryError

MAX_BYTES: Final = 64 * 1024
FORM: Final = "application/x-www-form-urlencoded"
Action = Literal["add", "update", "delete", ""]

_NAME = re.compile(r"[A-Z][A-Z0-9_:.\\]{1,99}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)
_TYPE_SUFFIX = re.compile(r"(ONCRMDYNAMICITEM(?:ADD|UPDATE|DELETE))_[0-9]{1,9}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9.:\[\]-]{0,255}", re.ASCII)
_MEMBER = re.compile(r"[A-Za-z0-9_-]{0,100}", re.ASCII)
_MAX_TOKEN = 200
_MAX_VALUE = 200
_MAX_FIELDS = 20
_DYNAMIC = "item"
_ACTIONS: Final[dict[str, Action]] = {"ADD": "add", "UPDATE": "update", "DELETE": "delete"}
_KINDS: Final = {
    "ONCRMDEAL": "deal",
    "ONCRMLEAD": "lead",
    "ONCRMCONTACT": "contact",
    "ONCRMCOMPANY": "company",
    "ONCRMACTIVITY": "activity",
    "ONCRMTIMELINECOMMENT": "comment",
    "ONCRMDYNAMICITEM": _DYNAMIC,
    "ONTASK": "task",
}
RECORDS: Final[dict[str, tuple[str, Action]]] = {
    **{f"{start}{verb}": (kind, action) for start, kind in _KINDS.items() for verb, action in _ACTIONS.items()},
    "ONCRMDEALMOVETOCATEGORY": ("deal", "update"),
}


class EventError(ValueError):
    """The posted content is not an event of a portal."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


@dataclass(frozen=True, kw_only=True)
class PortalEvent:
    event: str
    entity: str = ""
    """Such as "deal", "item:177" (a smart process with its type number); "" if the kind is not known."""
    record_id: int = 0
    action: Action = ""
    ts: int
    """Seconds, as the portal gives it."""
    token: SecretStr = field(default_factory=lambda: SecretStr(""))
    domain: str = ""
    member_id: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """ "deal:481"."""
        return f"{self.entity}:{self.record_id}" if self.entity and self.record_id else ""

    @property
    def identity(self) -> str:
        """The same for every delivery of one event: a portal may deliver it more than once."""
        about = self.target or ",".join(f"{name}={value}" for name, value in sorted(self.fields.items()))
        return f"{self.member_id}:{self.event}:{about}:{self.ts}"


def parse(body: bytes, content_type: str) -> PortalEvent:
    """Raises EventError, and nothing else."""
    if content_type.partition(";")[0].strip().lower() != FORM:
        raise EventError("the content is no form")
    if len(body) > MAX_BYTES:
        raise EventError(f"longer than {MAX_BYTES} bytes")
    try:
        form = parse_form(body.decode("ascii"))
    except (UnicodeDecodeError, QueryError):
        raise EventError("the form cannot be read") from None
    auth = _to_map(form.get("auth"))
    event = _match(_NAME, _to_text(form.get("event")).upper(), "event")
    fields = _extract_fields(_to_map(form.get("data")))
    entity, action = RECORDS.get(_TYPE_SUFFIX.sub(r"\1", event), ("", ""))
    return PortalEvent(
        event=event,
        entity=_find_kind(entity, fields),
        record_id=_parse_number(fields.get("ID", "")),
        action=action,
        ts=_parse_moment(form.get("ts")),
        token=SecretStr(_parse_token(auth.get("application_token"))),
        domain=_match(_HOST, _to_text(auth.get("domain")), "domain").lower(),
        member_id=_match(_MEMBER, _to_text(auth.get("member_id")), "member_id"),
        fields=fields,
    )


def is_authentic(event: PortalEvent, tokens: Iterable[SecretStr]) -> bool:
    token_bytes = event.token.get_secret_value().encode()
    matches = False
    for token in tokens:
        known = token.get_secret_value().encode()
        matches |= bool(known) and hmac.compare_digest(token_bytes, known)
    return matches


def _find_kind(entity: str, fields: Mapping[str, str]) -> str:
    """Adds the type number to an item of a smart process; "" if it is missing."""
    if entity != _DYNAMIC:
        return entity
    number = _parse_number(fields.get("ENTITY_TYPE_ID", ""))
    return f"{_DYNAMIC}:{number}" if number else ""


def _extract_fields(data: Mapping[str, Any]) -> dict[str, str]:
    """FIELDS of a CRM event, FIELDS_AFTER or FIELDS_BEFORE of a task; the portal may post "undefined" in their place."""
    maps = (_to_map(data.get(name)) for name in ("FIELDS", "FIELDS_AFTER", "FIELDS_BEFORE"))
    fields = next((given for given in maps if given), {})
    plain = [(str(name)[:_MAX_VALUE], value[:_MAX_VALUE]) for name, value in fields.items() if isinstance(value, str)]
    return dict(plain[:_MAX_FIELDS])


def _to_map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _to_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _parse_number(text: str) -> int:
    return int(text) if _NUMBER.fullmatch(text) else 0


def _parse_moment(value: Any) -> int:
    text = _to_text(value)
    if not _NUMBER.fullmatch(text):
        raise EventError("ts is no number of seconds")
    return int(text)


def _parse_token(value: Any) -> str:
    text = _to_text(value)
    return text if len(text) <= _MAX_TOKEN else ""


def _match(pattern: re.Pattern[str], text: str, name: str) -> str:
    if not pattern.fullmatch(text):
        raise EventError(f"{name} is not as a portal writes it")
    return text
