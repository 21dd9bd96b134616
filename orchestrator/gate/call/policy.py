"""The policy: the rules of the portal's owner, loaded from data/policy.yaml and POLICY_FILE.

`policy_reload` loads it again when one of the files changes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from bitrix.catalogue.catalogue import Catalogue, Method
from bitrix.catalogue.names import to_field_key
from orchestrator.domain.effect import EffectKind
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.frozen import Frozen
from orchestrator.domain.http_address import parse_listed_site
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.budget import Budget
from orchestrator.gate.call.kinds.opened_parties import HttpHosts, MongoCollections
from orchestrator.gate.call.limits import Caps, Money
from orchestrator.gate.call.policy_format import (
    Currency,
    DefinitionRoles,
    Place,
    Places,
    Rule,
    build_suggestion,
    describe_mistakes,
    format_location,
    is_match,
    parse_duration,
    parse_policy_text,
    read_policy_file,
)
from state.canonical import dumps, hash_text

SHIPPED = Path(__file__).resolve().parents[3] / "data" / "policy.yaml"
_PARTS: Final[dict[str, type[BaseModel]]] = {
    "catalogue": Method,
    "rules": Rule,
    "caps": Caps,
    "budget": Budget,
    "definitions": DefinitionRoles,
}
_OWN_FIELDS: Final = ("uf", "parentid", "property")
"""Prefixes of the names of fields that differ between portals, so that the catalogue cannot list them."""

Span = Annotated[timedelta, BeforeValidator(parse_duration), Field(gt=timedelta(0))]


def _check_hosts(hosts: frozenset[str]) -> frozenset[str]:
    for entry in hosts:
        parse_listed_site(entry)  # OddSite is a ValueError, which says what is wrong with the entry
    return hosts


PrivateHosts = Annotated[frozenset[str], AfterValidator(_check_hosts)]


def _drop_former_kinds(given: object) -> object:
    """Return the list of kinds without "run": starting a run is no effect any more, and a policy that opens it still loads."""
    return [one for one in given if one != "run"] if isinstance(given, list | tuple | set | frozenset) else given


@lru_cache(maxsize=64)  # a policy has few lists of methods, and a process few policies
def _fold_names(listed: frozenset[str]) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in listed)


class Policy(Frozen):
    """The rules of the portal's owner, in addition to the catalogue of methods. Method names are matched regardless of case."""

    open_methods: frozenset[str] = frozenset()
    """Methods that are closed by default (deletions and closed catalogue rows) and may be requested.

    A deletion then needs a second tap.
    """
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
    """The currency of limits that name none; it should be the base currency of the portal.

    The portal keeps sums without a currency in its base currency.
    """
    rates: dict[Currency, Annotated[Decimal, Field(gt=0)]] = Field(default_factory=dict)
    """The value of one unit of another currency in `currency`; a sum in a currency without a rate is above every limit."""
    critical_fields: frozenset[str] = frozenset()
    """Further fields, such as UF_CRM_DISCOUNT, whose change needs a confirmation."""
    rules: tuple[Rule, ...] = ()
    """The owner's rules: all that match a call apply, and the strictest one wins."""
    sum_jump: int | None = Field(default=None, ge=2)
    """A sum that is multiplied or divided by at least this factor needs two taps; the shipped policy sets ten."""
    caps: Caps = Caps()
    budget: Budget = Budget()
    """How much of the model a person may use in a month."""
    undo_for: Span = timedelta(hours=1)
    """How long a change can be undone with one button."""
    remind_lead_after: Span = timedelta(hours=2)
    """After how long a lead (head of sales) who has not decided about a card is reminded."""
    halt_on_block: bool = False
    """Whether to stop a plan at the first step that waits for a decision or is refused (S004-A4)."""
    event_handler_hosts: frozenset[str] = frozenset()
    """Hosts to which event.bind may send the portal's events."""
    open_kinds: Annotated[frozenset[EffectKind], BeforeValidator(_drop_former_kinds)] = frozenset()
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
    """Further methods for the catalogue of the portal's methods."""

    def is_listed(self, listed: frozenset[str], method: str) -> bool:
        """Return whether the list of method names `listed` contains `method`, regardless of case."""
        return bool(listed) and method.lower() in _fold_names(listed)

    @cached_property
    def money(self) -> Money:
        """The rules for comparing sums in different currencies."""
        return Money(currency=self.currency, rates=self.rates)

    @cached_property
    def digest(self) -> str:
        """The checksum (12 hex digits) that identifies this policy in the journal.

        Policies with the same rules have the same checksum, even if their files are written differently.
        """
        return hash_text(dumps(_to_sorted(self.model_dump())))[:12]


class LoadedPolicy(NamedTuple):
    """A policy, with the file and line of each of its keys."""

    policy: Policy
    places: Places


def load_policy(path: Path | None, *, shipped: Path = SHIPPED) -> Policy:
    """Return the policy from the shipped file, with keys replaced by those in the owner's file `path`.

    Raises SettingsError, which lists every mistake.
    """
    return load_with_places(path, shipped=shipped).policy


def load_with_places(path: Path | None, *, shipped: Path = SHIPPED) -> LoadedPolicy:
    """Return a policy loaded as by `load_policy`, together with the file and line of each key."""
    return _merge([read_policy_file(source) for source in ((shipped, path) if path else (shipped,))])


def load_from_text(text: str, name: str, *, shipped: Path = SHIPPED) -> LoadedPolicy:
    """Return the policy as if `text` stood in the owner's file `name`. Raises SettingsError, which lists every mistake.

    A text without any key is one, as for a file that becomes empty while the bot runs.
    """
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
        raise SettingsError("\n".join(describe_mistakes(error, places, Policy, _PARTS))) from None


def check_policy(policy: Policy, catalogue: Catalogue, places: Places | None = None, *, kinds: Collection[str] = ()) -> tuple[str, ...]:
    """Return one sentence for each name in the policy that the catalogue does not know.

    A misspelt name in `refuse_methods`, for example, would refuse nothing. With `places`, a sentence begins with the file and line of the
    name. `kinds` are the kinds of definitions of this program; a program without any, which takes no definitions, checks none.
    """
    unknown = [*_find_unknown_names(policy, catalogue), *_find_unknown_kinds(policy, kinds)]
    return tuple(f"{_format_place(place, places or {})}: {text}" for place, text in unknown)


def _format_place(place: Place, places: Places) -> str:
    return format_location(place, places) if places else f"policy: {'.'.join(str(part) for part in place)}"


def _find_unknown_names(policy: Policy, catalogue: Catalogue) -> Iterator[tuple[Place, str]]:
    known = [*(method.name for method in catalogue), *effect_kinds.list_policy_names()]
    for key in ("open_methods", "refuse_methods", "ask_methods"):
        for name in sorted(getattr(policy, key)):
            if name.strip().lower() not in {one.lower() for one in known}:
                yield (key,), f"{name!r} is not in the catalogue.{build_suggestion(name, known)}"
    fields = {to_field_key(name, method.entity): name for method in catalogue for name in method.critical}
    fields |= {to_field_key(name, entity.name): name for entity in catalogue.entities.values() for name in entity.fields}
    for number, rule in enumerate(policy.rules):
        yield from (((("rules", number, key)), text) for key, text in _find_unknown_in_rule(rule, catalogue, known, fields))


def _find_unknown_kinds(policy: Policy, kinds: Collection[str]) -> Iterator[tuple[Place, str]]:
    for name in sorted(policy.definitions.keys() - set(kinds)) if kinds else ():
        yield ("definitions", name), f"{name!r} is no kind of definitions here.{build_suggestion(name, sorted(kinds))}"


def _find_unknown_in_rule(rule: Rule, catalogue: Catalogue, methods: list[str], fields: dict[str, str]) -> Iterator[tuple[str, str]]:
    for pattern in rule.method:
        if not any(is_match(pattern, name) for name in methods):
            yield "method", f"{pattern!r} fits no method of the catalogue.{build_suggestion(pattern, methods)}"
    for pattern in rule.entity:
        if not any(is_match(pattern, name) for name in (*catalogue.entities, "binding")) and not pattern.lower().startswith("item:"):
            yield "entity", f"{pattern!r} is no kind of record.{build_suggestion(pattern, list(catalogue.entities))}"
    for name in rule.field:
        if to_field_key(name) not in fields and not to_field_key(name).startswith(_OWN_FIELDS):
            yield "field", f"{name!r} is no field of the catalogue.{_suggest_field(name, fields)}"


def _suggest_field(name: str, fields: dict[str, str]) -> str:
    found = build_suggestion(to_field_key(name), list(fields))
    key = found.split("'")[1] if found else ""
    return f" Did you mean {fields[key]!r}?" if key else ""


def _to_sorted(value: object) -> object:
    """Return the value as JSON data, with sets sorted."""
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
