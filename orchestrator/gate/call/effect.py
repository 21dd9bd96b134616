"""Call (a normalized effect), Facts (what it is checked with), Verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.directory.reference_data import Field
from orchestrator.domain.bulk import BulkFile
from orchestrator.domain.frozen import computed_once
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import targets
from orchestrator.gate.call.essence import build_canonical_form
from orchestrator.gate.call.lookup import Lookup, read_places
from state.canonical import dumps, hash_text
from state.stored import JsonObject

Target = targets.Target

Part = tuple[str, int]
"""No record but with an id, such as a department: its reading method, and the id."""

BeforeImage = Mapping[str, JsonObject | None]
"""Records before a change, "deal:481" → the relevant fields, None for a record that does not exist."""

FirstSums = Mapping[str, tuple[object, str]]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One exact call: this same object is checked, shown, hashed and sent.

    `params` is canonical JSON with the fields that normalization adds; those of a batch are built from `commands`. A changed copy is
    looked up anew.
    """

    kind: str
    method: str
    params: JsonObject
    spec: Method
    classes: tuple[str, ...]
    portal: str
    key: str = ""
    commands: tuple["Call", ...] = ()
    halt: bool = False
    targets: tuple[Target, ...] = ()
    unknown_target: bool = False
    """The changed record's id is a reference `$result[...]`, or malformed."""
    references: tuple[str, ...] = ()
    """Paths of parameters that hold `$result[...]`, another command's result."""
    system_fields: frozenset[str] = frozenset()
    """Added by normalization; they need no confirmation."""
    entity: str = ""
    """What the written fields belong to: "activity" even if the target is its deal."""
    entities: Mapping[str, Entity] = field(default_factory=dict)
    target_created: bool = False
    """The id is the `$result[...]` of an earlier add in the same batch."""
    ties: tuple[Target, ...] = ()
    """What the call attaches something to, such as a task's deal: checked like targets."""
    proposed_essence: str = ""
    """That of the proposed call, if it has been converted to another form since."""
    named_currencies: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """(field, currency) of sums given with one; never stored."""

    names_owner: bool = field(default=True, compare=False)
    """Whether a list call said whose records are wanted; never stored."""

    lookup: Lookup | None = field(default=None, compare=False, repr=False)
    """Only of calls of the portal, not of batches; never stored."""

    def __post_init__(self) -> None:
        """No copy keeps what held for another method or other parameters."""
        before = self.lookup
        if before is None or (self.params is before.params and self.spec is before.spec and self.method == before.spec.name):
            return
        spec = self.spec if self.method == self.spec.name else before.catalogue.find(self.method)
        if spec is None:
            raise ValueError(f"{self.method} is not in the catalogue")
        same_method = spec is before.spec
        lookup = before.follow(self.params) if same_method else Lookup(spec=spec, params=self.params, catalogue=before.catalogue)
        fresh: dict[str, object] = {"spec": spec, "lookup": lookup}
        if not same_method or lookup.classes != before.classes:
            fresh["classes"] = lookup.classes
        if not same_method or not lookup.finds_same(before):
            fresh |= {"entity": lookup.entity, "entities": lookup.entities, "targets": lookup.targets, "ties": lookup.ties}
            fresh |= {"unknown_target": lookup.is_unclear or any(link.number is None for link in lookup.bound), "target_created": False}
        vars(self).update(fresh)

    @classmethod
    def from_lookup(
        cls, lookup: Lookup, *, portal: str, key: str = "", system_fields: frozenset[str] = frozenset(), names_owner: bool = True
    ) -> "Call":
        return cls(
            kind="bitrix",
            method=lookup.spec.name,
            params=lookup.params,
            spec=lookup.spec,
            classes=lookup.classes,
            portal=portal,
            targets=lookup.targets,
            unknown_target=lookup.is_unclear,
            entity=lookup.entity,
            entities=lookup.entities,
            ties=lookup.ties,
            key=key,
            system_fields=system_fields,
            names_owner=names_owner,
            lookup=lookup,
        )

    @computed_once
    def places(self) -> Mapping[str, object]:
        return self.lookup.places if self.lookup is not None else read_places(self.spec, self.params)

    @computed_once
    def fingerprint(self) -> str:
        """SHA-256 of (portal, method, params): an approval is valid only for this exact call."""
        return hash_text(dumps([self.portal, self.method, self.params]))

    @computed_once
    def essence(self) -> str:
        """SHA-256 of what the call writes, without origin marks: the same in every spelling."""
        if self.proposed_essence:
            return self.proposed_essence
        body = [[command.key, command.essence] for command in self.commands] if self.commands else self._form
        return hash_text(dumps([self.portal, self.method if self.commands else "", body]))

    @property
    def _form(self) -> object:
        if self.kind != "bitrix":
            return [self.kind, self.method, self.params]
        return build_canonical_form(self.spec, self.params, entity=self.entity, info=self.entities.get(self.entity))

    @property
    def listed_as(self) -> str:
        """As a policy writes it: crm.deal.get, mongo.delete_one."""
        return self.method if self.kind == "bitrix" or self.method.startswith(f"{self.kind}.") else f"{self.kind}.{self.method}"

    @computed_once
    def written_fields(self) -> JsonObject:
        if self.spec.fields_at:
            place = self.params.get(self.spec.fields_at)
            return place if isinstance(place, Mapping) else {}
        apart = {path.partition(".")[0] for path in (*self.spec.target, self.spec.target_entity.removeprefix("@"))}
        return {name: value for name, value in self.params.items() if name not in apart}

    @computed_once
    def leaves(self) -> tuple["Call", ...]:
        """The commands of a batch, otherwise the call itself."""
        return self.commands or (self,)

    @computed_once
    def reads_only(self) -> bool:
        return set(self.classes) <= {"R"}


@dataclass(frozen=True, kw_only=True)
class Whole:
    """What a part, such as a comment, belongs to; `is_visible` for the requester."""

    target: Target
    is_visible: bool


@dataclass(frozen=True, kw_only=True)
class Place:
    """On which record an activity stands, as the portal says, and its present fields."""

    target: Target
    record: JsonObject


@dataclass(frozen=True, kw_only=True)
class CallPartner:
    """With whom a call or meeting may have been; `entry` is one of COMMUNICATIONS."""

    entry: JsonObject
    name: str


@dataclass(frozen=True, kw_only=True)
class Addressee:
    """A record that a call or letter names as the one it is with."""

    name: str
    """ "" if the requester may not see it."""
    is_customer: bool
    """Linked to the record on whose card the call or letter stands."""
    addresses: frozenset[tuple[str, str]]
    """Comparable phones and e-mails with their kinds."""


@dataclass(frozen=True, kw_only=True)
class Sender:
    """In whose name the portal sends a text, and the person behind it."""

    user: int
    """0 if the portal does not say."""
    person: str


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is read before a check, so that the check itself reads nothing.

    `records` has None for a target that was not found; `denied_…` tell of a denial of this same call.
    """

    records: Mapping[Target, JsonObject | None] = field(default_factory=dict)
    planned: Mapping[Target, JsonObject | None] = field(default_factory=dict)
    """Of `records` those that steps of the same plan, waiting before this call, will have changed."""
    parts: Mapping[Part, JsonObject] = field(default_factory=dict)
    first_stages: Mapping[str, str] = field(default_factory=dict)
    field_lists: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    """A list that could not be read is missing."""
    value_lists: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the keys of `decide.value_kinds`."""
    today: date | None = None
    dismissed_users: frozenset[int] = frozenset()
    named_people: frozenset[int] = frozenset()
    by_webhook: bool = False
    """Some methods are available only to an application."""
    denied_at: str = ""
    denied_by: str = ""
    denied_in_turn: bool = False
    written: int = 0
    """Changes begun for the requester within the last 24 hours."""
    first_sums: Mapping[Target, FirstSums] = field(default_factory=dict)
    """Before this program first changed them within the last day."""
    images: BeforeImage = field(default_factory=dict)
    """What an effect of another kind would change, as its performer read it."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """By path; "" is what holds the fields."""
    unread: "Refuse | None" = None
    """Why the performer could not read `images`."""
    wholes: Mapping[Target, Whole] = field(default_factory=dict)
    """For calls of owner `part` or `author`; an unknown one is missing."""
    places: Mapping[Target, Place] = field(default_factory=dict)
    """Of activities that a change leaves where they stand, if the requester may see that record."""
    own_parts: frozenset[Target] = frozenset()
    """Parts that the requester wrote."""
    undone: frozenset[Target] = frozenset()
    """Created by the call that this one undoes: an undo deletes nothing else."""
    kept_files: frozenset[str] = frozenset()
    """Digests of what was kept when the call that this one undoes took it away: nothing else may name any."""
    made: frozenset[Target] = frozenset()
    """Others' records that the requester made through this program and so may change."""
    handed_over: frozenset[Target] = frozenset()
    """Records that only steps of the same plan took from the requester, approved by a person."""
    call_partners: Mapping[Target, Sequence[CallPartner]] = field(default_factory=dict)
    """Where a call is added without saying with whom, those it may be, the main one first."""
    addressees: Mapping[tuple[Target, Target], Addressee | None] = field(default_factory=dict)
    """Where a call or letter says with whom it is: by its own target and the record it names. None for one that is not there."""
    sections: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The calendar of an owner, by kind and id, where an event is added without naming one."""
    sender: Sender | None = None
    """None for calls that tell nobody anything and whose author is known."""
    linked: frozenset[Target] = frozenset()
    """Others' customers linked to an open deal or lead of the requester; only for reads."""
    staff: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Contacts by company, where a list asks for those of one; whose they are is not looked at."""
    bulk: BulkFile | None = None
    """What a change of many records would do, as its file was frozen."""


@dataclass(frozen=True, kw_only=True)
class Allow:
    pass


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A person must decide, with `taps` clicks.

    `lead`: a head of sales decides; `four_eyes`: somebody other than the requester.
    """

    reasons: tuple[Notice, ...]
    taps: int = 1
    four_eyes: bool = False
    lead: bool = False


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """The call will not run. `reason` is for the person, `detail` is English for the model and operators."""

    reason: Notice
    detail: str
    foreign_text: bool = False
    """Whether `detail` contains texts from the portal."""
    is_form: bool = False
    """Wrong as written, so that nobody could allow it."""


@dataclass(frozen=True, kw_only=True)
class PlanOnly:
    """Shadow mode: the call is recorded as a plan and never run."""


Verdict = Allow | Ask | Refuse | PlanOnly
