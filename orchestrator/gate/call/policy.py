"""The policy: the rules of the portal's owner, loaded from data/policy.yaml and POLICY_FILE, again by `live_policy`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.catalogue.names import to_field_key
from orchestrator.domain.budget import Budget, Currency
from orchestrator.domain.effect import EffectKind
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.http_address import parse_listed_site
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.kinds.opened_parties import HttpHosts, MongoCollections
from orchestrator.gate.call.limits import Caps, Money
from orchestrator.gate.call.policy_format import (
    DefinitionRoles,
    Place,
    Places,
    Rule,
    describe_mistakes,
    find_near_name,
    format_location,
    is_match,
    parse_duration,
    parse_policy_text,
    read_policy_file,
)
from state.canonical import dumps, hash_text

SHIPPED = Path(__file__).resolve().parents[3] / "data" / "policy.yaml"
PARTS: Final[dict[str, type[BaseModel]]] = {
    "catalogue": Method,
    "rules": Rule,
    "caps": Caps,
    "budget": Budget,
    "definitions": DefinitionRoles,
}
"""The models of nested values, by their keys at the top of a policy."""
_NO_SUCH_NAME: Final = {
    "method": "is not in the catalogue",
    "pattern": "fits no method of the catalogue",
    "entity": "is no kind of record",
    "field": "is no field of the catalogue",
    "kind": "is no kind of definitions here",
}
_OWN_FIELDS: Final = ("uf", "parentid", "property")
"""Prefixes of the names of fields that differ between portals, so that the catalogue cannot list them."""

Span = Annotated[timedelta, BeforeValidator(parse_duration), Field(gt=timedelta(0))]


def _check_hosts(hosts: frozenset[str]) -> frozenset[str]:
    for entry in hosts:
        parse_listed_site(entry)  # OddSite is a ValueError, which says what is wrong with the entry
    return hosts


PrivateHosts = Annotated[frozenset[str], AfterValidator(_check_hosts)]


@lru_cache(maxsize=64)  # a policy has few lists of methods, and a process few policies
def _fold_names(listed: frozenset[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in listed)


class Policy(Frozen):
    """The rules of the portal's owner, in addition to the catalogue of methods. Method names are matched regardless of case."""

    open_methods: frozenset[str] = frozenset()
    """Deletions and closed rows of the catalogue that may be requested; a deletion then needs a second tap."""
    refuse_methods: frozenset[str] = frozenset()
    """Methods that never run, whoever requests them and in whatever mode. Overrides open_methods."""
    ask_methods: frozenset[str] = frozenset()
    """Methods that always need a confirmation, even reads."""
    ask_people: frozenset[str] = frozenset()
    """Keys of the actors whose every change needs a confirmation."""
    ask_above: Decimal | None = Field(default=None, gt=0)
    """A change of a record whose sum is above this needs a confirmation."""
    four_eyes_above: Decimal | None = Field(default=None, gt=0)
    """Above this sum a person with the role lead (head of sales) other than the requester must approve."""
    currency: Currency = "RUB"
    """The currency of limits that name none; it should be the base currency of the portal, that of sums without a currency."""
    rates: dict[Currency, Annotated[Decimal, Field(gt=0)]] = Field(default_factory=dict)
    """The value of one unit of another currency in `currency`; a sum in a currency without a rate is above every limit."""
    critical_fields: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    """The owner's rules: all that match a call apply, and the strictest one wins."""
    sum_jump: int | None = Field(default=None, ge=2)
    """A sum that is multiplied or divided by at least this factor needs two taps; the shipped policy sets ten."""
    caps: Caps = Caps()
    budget: Budget = Budget()
    undo_for: Span = timedelta(hours=1)
    remind_lead_after: Span = timedelta(hours=2)
    """After how long a lead (head of sales) who has not decided about a card is reminded."""
    halt_on_block: bool = False
    """Whether to stop a plan at the first step that waits for a decision or is refused (S004-A4)."""
    event_handler_hosts: frozenset[str] = frozenset()
    """Hosts to which event.bind may send the portal's events."""
    open_kinds: frozenset[EffectKind] = frozenset()
    """Kinds of effects other than portal calls that may be requested or run."""
    telegram_chats: frozenset[int] = frozenset()
    """Telegram chats to which an effect may write, besides those of people with access."""
    http_hosts: HttpHosts = Field(default_factory=dict)
    """Hosts that an http effect may call, with what cards call them: `api.example.com` for https at its usual port, otherwise with scheme
    and port."""
    http_private_hosts: PrivateHosts = frozenset()
    """Those of `http_hosts` that may lie in a private network or on this machine."""
    mongo_collections: MongoCollections = Field(default_factory=dict)
    """Collections of the company's Mongo database that a mongo effect may read and change, with what cards call them."""
    definitions: dict[str, DefinitionRoles] = Field(default_factory=dict)
    """Who may edit and publish definitions (scenarios, flows, workflows), by kind."""
    read_linked_customers: bool = False
    """Whether people may read contacts and companies of others that are linked to their own open deals and leads."""
    delete_own_comments: bool = False
    """Whether people may delete the timeline comments that they wrote, although deleting is closed; the shipped policy says yes to both."""
    catalogue: tuple[Method, ...] = ()

    def is_listed(self, listed: frozenset[str], method: str) -> bool:
        """Return whether the list of method names `listed` contains `method`, regardless of case."""
        return bool(listed) and method.lower() in _fold_names(listed)

    @cached_property
    def money(self) -> Money:
        """The rules for comparing sums in different currencies."""
        return Money(currency=self.currency, rates=self.rates)

    @cached_property
    def digest(self) -> str:
        """The checksum (12 hex digits) that identifies this policy in the journal."""
        return hash_text(dumps(_to_sorted(self.model_dump())))[:12]


class LoadedPolicy(NamedTuple):
    """A policy, with the file and line of each of its keys."""

    policy: Policy
    places: Places


class InvalidPolicy(SettingsError):
    """Texts that can be read and make no policy. The message lists every mistake."""

    def __init__(self, error: ValidationError, places: Places) -> None:
        super().__init__("\n".join(describe_mistakes(error, places, Policy, PARTS)))
        self.errors, self.places = error.errors(include_url=False), places


class UnknownName(NamedTuple):
    """A name in a policy that fits nothing which the program knows."""

    place: Place
    name: str
    kind: Literal["method", "pattern", "entity", "field", "kind"]
    """What it should name: "pattern" is a word of a rule that may hold stars, "kind" a kind of definitions."""
    suggestion: str
    """The known name that was probably meant; "" if none is near."""


def load_policy(path: Path | None, *, shipped: Path = SHIPPED) -> Policy:
    """Return the shipped policy with keys replaced by those of the file `path`. Raises SettingsError, which lists every mistake."""
    return load_with_places(path, shipped=shipped).policy


def load_with_places(path: Path | None, *, shipped: Path = SHIPPED) -> LoadedPolicy:
    """Return a policy loaded as by `load_policy`, together with the file and line of each key."""
    return _merge([read_policy_file(source) for source in ((shipped, path) if path else (shipped,))])


def load_from_text(text: str, name: str, *, shipped: Path = SHIPPED) -> LoadedPolicy:
    """Return the policy as if `text` stood in the owner's file `name`. Raises SettingsError, which lists every mistake."""
    own = parse_policy_text(text, name)
    if not own[0]:
        raise SettingsError(f"POLICY_FILE {name}: says nothing; write `rules: []` if nothing is wanted")
    return _merge([read_policy_file(shipped), own])


def _merge(sources: Sequence[tuple[Mapping[str, object], Places]]) -> LoadedPolicy:
    merged: dict[str, object] = {}
    places: dict[Place, tuple[str, int]] = {}
    for content, found in sources:
        merged.update(content)
        places = {place: line for place, line in places.items() if place[0] not in content} | dict(found)
    try:
        return LoadedPolicy(Policy.model_validate(merged), places)
    except ValidationError as error:
        raise InvalidPolicy(error, places) from None


def check_policy(policy: Policy, catalogue: Catalogue, places: Places | None = None, *, kinds: Collection[str] = ()) -> tuple[str, ...]:
    """Return one sentence, with file and line, for each name that the catalogue does not know: a misspelt one would refuse nothing."""
    return tuple(_describe_unknown_name(unknown_name, places or {}) for unknown_name in find_unknown_names(policy, catalogue, kinds=kinds))


def _describe_unknown_name(unknown_name: UnknownName, places: Places) -> str:
    here = format_location(unknown_name.place, places) if places else f"policy: {'.'.join(str(part) for part in unknown_name.place)}"
    hint = f" Did you mean {unknown_name.suggestion!r}?" if unknown_name.suggestion else ""
    return f"{here}: {unknown_name.name!r} {_NO_SUCH_NAME[unknown_name.kind]}.{hint}"


def find_unknown_names(policy: Policy, catalogue: Catalogue, *, kinds: Collection[str] = ()) -> Iterator[UnknownName]:
    """Yield each name in the policy that neither the catalogue nor, if there are any, the `kinds` of definitions know."""
    known = [*(method.name for method in catalogue), *effect_kinds.list_policy_names()]
    for key in ("open_methods", "refuse_methods", "ask_methods"):
        for name in sorted(getattr(policy, key)):
            if name.strip().lower() not in {one.lower() for one in known}:
                yield UnknownName((key,), name, "method", find_near_name(name, known))
    fields = {to_field_key(name, method.entity): name for method in catalogue for name in method.critical}
    fields |= {to_field_key(name, entity.name): name for entity in catalogue.entities.values() for name in entity.fields}
    for number, rule in enumerate(policy.rules):
        yield from _find_unknown_in_rule(("rules", number), rule, catalogue, known, fields)
    for name in sorted(policy.definitions.keys() - set(kinds)) if kinds else ():
        yield UnknownName(("definitions", name), name, "kind", find_near_name(name, sorted(kinds)))


def _find_unknown_in_rule(at: Place, rule: Rule, catalogue: Catalogue, methods: list[str], fields: dict[str, str]) -> Iterator[UnknownName]:
    for pattern in rule.method:
        if not any(is_match(pattern, name) for name in methods):
            yield UnknownName((*at, "method"), pattern, "pattern", find_near_name(pattern, methods))
    for pattern in rule.entity:
        if not any(is_match(pattern, name) for name in (*catalogue.entities, "binding")) and not pattern.lower().startswith("item:"):
            yield UnknownName((*at, "entity"), pattern, "entity", find_near_name(pattern, list(catalogue.entities)))
    for name in rule.field:
        if to_field_key(name) not in fields and not to_field_key(name).startswith(_OWN_FIELDS):
            near = find_near_name(to_field_key(name), list(fields))
            yield UnknownName((*at, "field"), name, "field", fields[near] if near else "")


def _to_sorted(value: object) -> object:
    match value:
        case frozenset() | set():
            return sorted(str(item) for item in value)
        case dict():
            return {key: _to_sorted(item) for key, item in value.items()}
        case list() | tuple():
            return [_to_sorted(item) for item in value]
        case Decimal() | timedelta():
            return str(value.normalize() if isinstance(value, Decimal) else value.total_seconds())
        case _:
            return value
