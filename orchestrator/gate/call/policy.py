"""The policy: the rules of the portal's owner, loaded from data/policy.yaml and POLICY_FILE."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.catalogue.names import to_field_key
from orchestrator.domain.actor import Actor, Role
from orchestrator.domain.budget import Budget, Currency
from orchestrator.domain.bulk import MOST_RECORDS
from orchestrator.domain.effect import EffectKind
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.http_address import parse_listed_site
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.effect import Call, Facts, Refuse
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
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import refuse
from state.canonical import dumps, hash_text
from state.journal.daily_count import PastStart


class OpenedParty(Frozen):
    """What cards call a collection or host and its fields; by default its own name."""

    title: str = Field(default="", max_length=80)
    fields: dict[str, str] = Field(default_factory=dict)
    """Inner fields by their paths, such as address.city."""


def _parse_parties(value: object) -> object:
    if isinstance(value, list | tuple | set | frozenset):
        return {name: {} for name in value}
    return {name: {} if row is None else row for name, row in value.items()} if isinstance(value, Mapping) else value


_Hosts = TypeVar("_Hosts", frozenset[str], dict[str, OpenedParty])


def _check_hosts(hosts: _Hosts) -> _Hosts:
    for entry in hosts:
        parse_listed_site(entry)  # OddSite is a ValueError, which says what is wrong with the entry
    return hosts


MongoCollections = Annotated[dict[str, OpenedParty], BeforeValidator(_parse_parties)]
HttpHosts = Annotated[dict[str, OpenedParty], BeforeValidator(_parse_parties), AfterValidator(_check_hosts)]


class Caps(Frozen):
    """Limits that even a person's approval does not lift; None means no limit."""

    records_per_batch: int | None = Field(default=50, ge=1)
    """Changes that one batch may contain."""
    writes_per_day: int | None = Field(default=None, ge=0)
    """Within 24 hours; each command of a batch counts, and each new database entry."""


class BulkLimits(Frozen):
    """Of one change of many records; above them a second person approves it, too."""

    records: dict[Role, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """By role; a role that is left out has none."""
    sum: Decimal | None = Field(default=None, gt=0)
    """Of the sums of all its records, in `currency`."""
    most: int = Field(default=2_000, ge=1, le=MOST_RECORDS)
    """Larger ones are refused."""


class ChangeCounter(Protocol):
    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """Within the last 24 hours; may raise StoreError."""

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """From these a missing count starts; may raise StoreError."""


def count_call_changes(call: Call) -> int:
    """0 for a read, one for each writing command of a batch and each inserted document."""
    return sum(effect_kinds.count_listed(leaf.kind, leaf.method, leaf.params) for leaf in call.leaves if not leaf.reads_only)


def check_caps(call: Call, caps: Caps, facts: Facts) -> Refuse | None:
    many = count_call_changes(call)
    if not many:
        return None
    if call.commands and caps.records_per_batch is not None and many > caps.records_per_batch:
        return refuse("gate-cap-batch", count=many, limit=caps.records_per_batch)
    if caps.writes_per_day is not None and facts.written + many > caps.writes_per_day:
        return build_cap_refusal(many, facts.written, caps.writes_per_day)
    return None


def build_cap_refusal(many: int, begun: int, limit: int) -> Refuse:
    return refuse("gate-cap-day", count=many, made=begun, limit=limit)


@dataclass(frozen=True, kw_only=True)
class Money:
    """`currency` is that of sums without one; `rates` says what one unit of another is worth in it."""

    currency: str = "RUB"
    rates: Mapping[str, Decimal] = field(default_factory=dict)

    def convert_pair(self, amount: Decimal, currency: str, other: str) -> tuple[Decimal, Decimal] | None:
        """(`amount`, the factor for sums in `other`), both in one currency; None without a rate."""
        first, second = currency or self.currency, other or self.currency
        if first == second:
            return amount, Decimal(1)
        rates = self._find_rate(first), self._find_rate(second)
        return None if rates[0] is None or rates[1] is None else (amount * rates[0], rates[1])

    def _find_rate(self, currency: str) -> Decimal | None:
        return Decimal(1) if currency == self.currency else self.rates.get(currency)


RUBLES: Final = Money()


SHIPPED = Path(__file__).resolve().parents[3] / "data" / "policy.yaml"
PARTS: Final[dict[str, type[BaseModel]]] = {
    "catalogue": Method,
    "rules": Rule,
    "caps": Caps,
    "bulk": BulkLimits,
    "budget": Budget,
    "definitions": DefinitionRoles,
}
_NO_SUCH_NAME: Final = {
    "method": "is not in the catalogue",
    "pattern": "fits no method of the catalogue",
    "entity": "is no kind of record",
    "field": "is no field of the catalogue",
    "kind": "is no kind of definitions here",
}
_OWN_FIELDS: Final = ("uf", "parentid", "property")

Span = Annotated[timedelta, BeforeValidator(parse_duration), Field(gt=timedelta(0))]


PrivateHosts = Annotated[frozenset[str], AfterValidator(_check_hosts)]


@lru_cache(maxsize=64)  # a policy has few lists of methods, and a process few policies
def _fold_names(method_names: frozenset[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in method_names)


class Policy(Frozen):
    """The rules of the portal's owner. Method names are matched regardless of case."""

    open_methods: frozenset[str] = frozenset()
    """A deletion then needs a second tap."""
    refuse_methods: frozenset[str] = frozenset()
    """Overrides open_methods."""
    ask_methods: frozenset[str] = frozenset()
    """Even reads."""
    ask_people: frozenset[str] = frozenset()
    """Keys of the actors whose every change asks."""
    ask_above: Decimal | None = Field(default=None, gt=0)
    """The sum of the changed record."""
    four_eyes_above: Decimal | None = Field(default=None, gt=0)
    """A lead other than the requester must approve."""
    currency: Currency = "RUB"
    """Should be the portal's base currency, that of sums without one."""
    rates: dict[Currency, Annotated[Decimal, Field(gt=0)]] = Field(default_factory=dict)
    """One unit in `currency`; a sum without a rate is above every limit."""
    critical_fields: frozenset[str] = frozenset()
    rules: tuple[Rule, ...] = ()
    """All that match apply, and the strictest one wins."""
    sum_jump: int | None = Field(default=None, ge=2)
    """Multiplied or divided by this factor, a sum needs two taps."""
    caps: Caps = Caps()
    bulk: BulkLimits = BulkLimits()
    budget: Budget = Budget()
    undo_for: Span = timedelta(hours=1)
    remind_lead_after: Span = timedelta(hours=2)
    """Reminds a lead who has not decided about a card."""
    halt_on_block: bool = False
    """A plan stops at the first step that waits or is refused (S004-A4)."""
    event_handler_hosts: frozenset[str] = frozenset()
    """Where event.bind may send the portal's events."""
    open_kinds: frozenset[EffectKind] = frozenset()
    """Beside portal calls."""
    telegram_chats: frozenset[int] = frozenset()
    """Besides those of people with access."""
    http_hosts: HttpHosts = Field(default_factory=dict)
    """`api.example.com` means https at its usual port."""
    http_private_hosts: PrivateHosts = frozenset()
    """Those of `http_hosts` in a private network or on this machine."""
    mongo_collections: MongoCollections = Field(default_factory=dict)
    definitions: dict[str, DefinitionRoles] = Field(default_factory=dict)
    read_linked_customers: bool = False
    """Linked to the person's own open deals and leads."""
    delete_own_comments: bool = False
    """Their own timeline comments, although deleting is closed."""
    catalogue: tuple[Method, ...] = ()

    def is_listed(self, method_names: frozenset[str], method: str) -> bool:
        return bool(method_names) and method.lower() in _fold_names(method_names)

    @cached_property
    def money(self) -> Money:
        return Money(currency=self.currency, rates=self.rates)

    @cached_property
    def digest(self) -> str:
        """12 hex digits for the journal."""
        return hash_text(dumps(_to_sorted(self.model_dump())))[:12]


class LoadedPolicy(NamedTuple):
    policy: Policy
    places: Places


class InvalidPolicy(SettingsError):
    """A readable text that makes no policy. The message lists every mistake."""

    def __init__(self, error: ValidationError, places: Places) -> None:
        super().__init__("\n".join(describe_mistakes(error, places, Policy, PARTS)))
        self.errors, self.places = error.errors(include_url=False), places


class UnknownName(NamedTuple):
    place: Place
    name: str
    kind: Literal["method", "pattern", "entity", "field", "kind"]
    """"pattern" may hold stars, "kind" is one of definitions."""
    suggestion: str


def load_policy(path: Path | None, *, shipped: Path = SHIPPED) -> Policy:
    """The shipped policy with keys replaced by those of `path`. Raises SettingsError, which lists every mistake."""
    return load_with_places(path, shipped=shipped).policy


def load_with_places(path: Path | None, *, shipped: Path = SHIPPED) -> LoadedPolicy:
    return _merge([read_policy_file(source) for source in ((shipped, path) if path else (shipped,))])


def load_from_text(text: str, name: str, *, shipped: Path = SHIPPED) -> LoadedPolicy:
    """As if `text` stood in the owner's file. Raises SettingsError, which lists every mistake."""
    own = parse_policy_text(text, name)
    if not own[0]:
        raise SettingsError(f"POLICY_FILE {name}: says nothing; write `rules: []` if nothing is wanted")
    return _merge([read_policy_file(shipped), own])


def _merge(sources: Sequence[tuple[Mapping[str, object], Places]]) -> LoadedPolicy:
    merged: dict[str, object] = {}
    places: dict[Place, tuple[str, int]] = {}
    for content, new_places in sources:
        merged.update(content)
        places = {place: line for place, line in places.items() if place[0] not in content} | dict(new_places)
    try:
        return LoadedPolicy(Policy.model_validate(merged), places)
    except ValidationError as error:
        raise InvalidPolicy(error, places) from None


def check_policy(policy: Policy, catalogue: Catalogue, places: Places | None = None, *, kinds: Collection[str] = ()) -> tuple[str, ...]:
    """One sentence for each unknown name: a misspelt one would refuse nothing."""
    return tuple(_describe_unknown_name(unknown_name, places or {}) for unknown_name in find_unknown_names(policy, catalogue, kinds=kinds))


def _describe_unknown_name(unknown_name: UnknownName, places: Places) -> str:
    here = format_location(unknown_name.place, places) if places else f"policy: {'.'.join(str(part) for part in unknown_name.place)}"
    hint = f" Did you mean {unknown_name.suggestion!r}?" if unknown_name.suggestion else ""
    return f"{here}: {unknown_name.name!r} {_NO_SUCH_NAME[unknown_name.kind]}.{hint}"


def find_unknown_names(policy: Policy, catalogue: Catalogue, *, kinds: Collection[str] = ()) -> Iterator[UnknownName]:
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
