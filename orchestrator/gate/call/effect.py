"""What the gate works on: a Call (normalised effect), the Facts it is judged by, and the Verdict. Ring 2, pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bitrix.catalogue import names
from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.directory.reference_data import Field
from orchestrator.domain.outputs import Notice
from state.canonical import dumps, hash_text

Target = tuple[str, int]
"""A record: ("deal", 481)."""

FirstSums = Mapping[str, tuple[Any, str]]
"""Sums by the key of their field: the value, and its currency."""

MARKS = frozenset({*names.list_origin_fields(in_items=False), *names.list_origin_fields(in_items=True)})
"""Fields by which a record made by us is found again when the answer was lost."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One exact call: what is judged, shown, hashed and sent is this object.

    `params` is canonical JSON data, already enriched. A batch holds its commands as Calls of their own (`key` names each) and
    `params` rebuilt from them. `fingerprint` covers portal, method and params as sent, minus nothing.
    """

    kind: str
    method: str
    params: Mapping[str, Any]
    spec: Method
    classes: tuple[str, ...]
    portal: str
    key: str = ""
    commands: tuple["Call", ...] = ()
    halt: bool = False
    targets: tuple[Target, ...] = ()
    """Existing records that the call reads or changes."""
    unknown_target: bool = False
    """The id of the record is a `$result[...]` reference or cannot be read."""
    references: tuple[str, ...] = ()
    """Params paths whose value holds `$result[...]`."""
    system_fields: frozenset[str] = frozenset()
    """Fields that enrichment set; they are not critical."""
    entity: str = ""
    """The kind of record its fields belong to: "deal", "item:177", "activity" even when the target is the activity's deal."""
    entities: Mapping[str, Entity] = field(default_factory=dict)
    """How the records of `targets` and of `entity` are read and their fields named."""
    target_created: bool = False
    """The id is `$result[...]` of an earlier add of the same batch: a record that did not exist before."""
    ties: tuple[Target, ...] = ()
    """Further records that it puts something on, such as the deal a task is bound to: judged like targets, never shown as the target."""
    proposed_essence: str = ""
    """The essence of the call as it was proposed, where it was brought into another form since."""
    named_currencies: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Fields whose sum was named with a currency, and that currency: looked at when the call is proposed, never stored."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over (portal, method, params)."""
        return hash_text(dumps([self.portal, self.method, self.params]))

    @cached_property
    def essence(self) -> str:
        """SHA-256 of the call without the marks that make every add unique: the same wish has the same essence."""
        if self.proposed_essence:
            return self.proposed_essence
        body = [[one.key, one.method, _strip_marks(one.params)] for one in self.commands] if self.commands else _strip_marks(self.params)
        return hash_text(dumps([self.portal, self.method, body]))

    @property
    def listed_as(self) -> str:
        """The method as a policy names it: crm.deal.get, mongo.delete_one."""
        return self.method if self.kind == "bitrix" else f"{self.kind}.{self.method}"

    @cached_property
    def leaves(self) -> tuple["Call", ...]:
        """The commands of a batch, else the call itself."""
        return self.commands or (self,)

    @cached_property
    def reads_only(self) -> bool:
        """True when nothing in it changes anything."""
        return set(self.classes) <= {"R"}


def _strip_marks(value: Any) -> Any:
    if isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {key: _strip_marks(item) for key, item in value.items() if key not in MARKS}
    if isinstance(value, (list, tuple)):
        return [_strip_marks(item) for item in value]
    return value


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was looked up before judging, so that judging stays pure.

    `records` holds the present state of each target (None = not found). `first_stages` maps "deal:0" and the like to the first
    stage id of the funnel. `denied` tells who denied this very call, when, and whether it was in this turn.
    """

    records: Mapping[Target, Mapping[str, Any] | None] = field(default_factory=dict)
    first_stages: Mapping[str, str] = field(default_factory=dict)
    field_lists: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    """The portal's lists of fields by the name of the list ("deal", "item:2"); one that could not be read is not there."""
    dismissed_users: frozenset[int] = frozenset()
    """Of the people that the call makes responsible those who do not work here (any more)."""
    by_webhook: bool = False
    """Calls go through a webhook, which some methods refuse."""
    denied_at: str = ""
    denied_by: str = ""
    denied_in_turn: bool = False
    written: int = 0
    """So many changes this person has had made within the last day."""
    first_sums: Mapping[Target, FirstSums] = field(default_factory=dict)
    """Where the sums of a record stood before our first change of them within the last day."""


@dataclass(frozen=True, kw_only=True)
class Allow:
    """Run it now."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A person must decide. `taps` is 2 for what cannot be undone; `lead` = one with that role, `four_eyes` = and not who asked."""

    reasons: tuple[Notice, ...]
    taps: int = 1
    four_eyes: bool = False
    lead: bool = False


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """It will not run. `reason` is for the person, `detail` is English for the model and ops."""

    reason: Notice
    detail: str
    foreign_text: bool = False
    """`detail` holds the portal's own words."""


@dataclass(frozen=True, kw_only=True)
class PlanOnly:
    """Shadow mode: recorded as a plan, never run."""


Verdict = Allow | Ask | Refuse | PlanOnly
