"""The data of the gate: a Call (normalized effect), the Facts used to check it, and the Verdict of the check. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.directory.reference_data import Field
from orchestrator.domain.frozen import computed_once
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import targets
from orchestrator.gate.call.essence import build_canonical_form
from orchestrator.gate.call.lookup import Lookup, read_places
from state.canonical import dumps, hash_text
from state.stored import JsonObject

Target = targets.Target

Part = tuple[str, int]
"""Something with an id that is no record of its own, such as a department: the method that reads it, and its id."""

BeforeImage = Mapping[str, JsonObject | None]
"""The before-image: records before a change, "deal:481" → the relevant fields, None for a record that does not exist."""

FirstSums = Mapping[str, tuple[object, str]]
"""The sums of a record by the key of their field; each is the value and its currency."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One exact call: this same object is checked, shown, hashed and sent.

    `params` is canonical JSON data and includes the fields that normalization adds. A batch holds its commands in `commands`; each command
    is a Call with its own `key`. The `params` of a batch are built from its commands. `fingerprint` is a checksum of portal, method and
    params exactly as sent. What the parameters mean is looked up once; a copy with another method or parameters is looked up anew.
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
    """Existing records that the call reads or changes."""
    unknown_target: bool = False
    """Whether the id of the record to change is not a number: a `$result[...]` reference (to another command's result), or malformed."""
    references: tuple[str, ...] = ()
    """The paths of the parameters whose value contains `$result[...]`, a reference to the result of another command of the batch."""
    system_fields: frozenset[str] = frozenset()
    """Fields that normalization added to the call; they need no confirmation."""
    entity: str = ""
    """The kind of record that the written fields belong to: "deal", "item:177", or "activity" even if the target is the activity's deal."""
    entities: Mapping[str, Entity] = field(default_factory=dict)
    """The catalogue's definitions of the kinds of record in `targets` and `entity`: how they are read and what their fields are called."""
    target_created: bool = False
    """Whether the id is the `$result[...]` of an earlier add in the same batch, so that the record does not exist yet."""
    ties: tuple[Target, ...] = ()
    """Further records to which the call attaches something, such as the deal of a task: checked like targets, not shown as the target."""
    proposed_essence: str = ""
    """The essence of the call as it was proposed, if the call has been converted to another form since; otherwise ""."""
    named_currencies: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """(field, currency) of sums that were given with a currency; checked when the call is proposed, never stored."""

    names_owner: bool = field(default=True, compare=False)
    """Whether the caller of a list said whose records are wanted; known when the call is proposed, never stored."""

    lookup: Lookup | None = field(default=None, compare=False, repr=False)
    """Where spec, targets, ties and kinds of record come from, for calls of the portal but batches; never stored."""

    def __post_init__(self) -> None:
        """Look the call up anew if it is a copy with another method or other parameters: no copy keeps what held for those before."""
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
        """Return the call of the portal that was looked up."""
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
        """The parameters, as dotted paths, that hold the id of the call's record, each with what is written there."""
        return self.lookup.places if self.lookup is not None else read_places(self.spec, self.params)

    @computed_once
    def fingerprint(self) -> str:
        """The SHA-256 checksum of (portal, method, params): an approval is valid only for this exact call."""
        return hash_text(dumps([self.portal, self.method, self.params]))

    @computed_once
    def essence(self) -> str:
        """The SHA-256 checksum of what the call writes, without origin marks: the same request has the same essence in every spelling."""
        if self.proposed_essence:
            return self.proposed_essence
        body = [[command.key, command.essence] for command in self.commands] if self.commands else self._form
        return hash_text(dumps([self.portal, self.method if self.commands else "", body]))

    @property
    def _form(self) -> object:
        """The call in the form that all its spellings share; only calls of the portal have several."""
        if self.kind != "bitrix":
            return [self.kind, self.method, self.params]
        return build_canonical_form(self.spec, self.params, entity=self.entity, info=self.entities.get(self.entity))

    @property
    def listed_as(self) -> str:
        """The name of the method as a policy writes it: crm.deal.get, mongo.delete_one."""
        return self.method if self.kind == "bitrix" or self.method.startswith(f"{self.kind}.") else f"{self.kind}.{self.method}"

    @computed_once
    def written_fields(self) -> JsonObject:
        """The fields that the call writes (name → value), under the names used in its parameters."""
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
        """Whether the call only reads; a batch only reads if all of its commands do."""
        return set(self.classes) <= {"R"}


@dataclass(frozen=True, kw_only=True)
class Whole:
    """The record that a part, such as a comment or a product row, belongs to, and whether the requester may touch that record."""

    target: Target
    is_visible: bool


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The data read before a call is checked, so that the check itself reads nothing.

    `records` holds the present state of each target (None = not found). `first_stages` maps funnels such as "deal:0" to their first stage
    id. `denied_at`, `denied_by` and `denied_in_turn` say when and by whom this same call was denied, and whether in this turn.
    """

    records: Mapping[Target, JsonObject | None] = field(default_factory=dict)
    parts: Mapping[Part, JsonObject] = field(default_factory=dict)
    """What the call updates besides records, such as departments, with its present values."""
    first_stages: Mapping[str, str] = field(default_factory=dict)
    field_lists: Mapping[str, Mapping[str, Field]] = field(default_factory=dict)
    """The portal's field lists by name ("deal", "item:2"); a list that could not be read is missing."""
    value_lists: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The portal's lists of values (value → name) that written values are checked against, by key; see `decide.value_kinds`."""
    today: date | None = None
    """The present day, with which written days are compared; None if it is not known."""
    dismissed_users: frozenset[int] = frozenset()
    """Of the users whom the call names for a record and who were not named before: those who are not active employees."""
    named_people: frozenset[int] = frozenset()
    """The employees whom the request names, where a new record gets no owner but the requester."""
    by_webhook: bool = False
    """Whether the call goes through a webhook of the portal; some methods are available only to an application."""
    denied_at: str = ""
    denied_by: str = ""
    denied_in_turn: bool = False
    written: int = 0
    """The number of changes begun for the requester within the last 24 hours."""
    first_sums: Mapping[Target, FirstSums] = field(default_factory=dict)
    """The sums of each record before this program first changed them within the last day."""
    images: BeforeImage = field(default_factory=dict)
    """What an effect of another kind than a portal call would change, as its performer has read it."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """What the policy calls the fields that such an effect touches, by their paths; under "" the title of what holds them."""
    unread: "Refuse | None" = None
    """Why the performer could not read that, if it could not."""
    wholes: Mapping[Target, Whole] = field(default_factory=dict)
    """For each part that a call of owner `part` or `author` is about, its record; a part whose record is not known is missing."""
    own_parts: frozenset[Target] = frozenset()
    """Those of the parts that a call of owner `author` changes which the requester wrote."""
    undone: frozenset[Target] = frozenset()
    """What the call that this one undoes has created, which alone an undo may delete."""
    made: frozenset[Target] = frozenset()
    """Records of others that the requester has made through this program and may change therefore, such as a task for a colleague."""
    call_partners: Mapping[Target, JsonObject] = field(default_factory=dict)
    """For each record to which a call is added without saying with whom, the entry that says it: the customer and their phone."""
    linked: frozenset[Target] = frozenset()
    """Contacts and companies of others that the call only reads, and that are linked to an open deal or lead of the requester."""


@dataclass(frozen=True, kw_only=True)
class Allow:
    """Verdict: the call runs now, without a question."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Verdict: a person must decide.

    `taps` is the number of button clicks that approve the call: 2 for deletions, strong changes of a sum, and where a rule asks twice.
    `lead` says that a lead (head of sales) decides, `four_eyes` that somebody other than the requester decides.
    """

    reasons: tuple[Notice, ...]
    taps: int = 1
    four_eyes: bool = False
    lead: bool = False


@dataclass(frozen=True, kw_only=True)
class Refuse:
    """Verdict: the call will not run. `reason` is for the person, `detail` is English for the model and operations staff."""

    reason: Notice
    detail: str
    foreign_text: bool = False
    """Whether `detail` contains texts from the portal."""
    is_form: bool = False
    """Whether the call is wrong as it is written, so that nobody could allow it: no people, policy or records had a say."""


@dataclass(frozen=True, kw_only=True)
class PlanOnly:
    """Verdict in shadow mode (a mode that runs nothing): the call is recorded as a plan."""


Verdict = Allow | Ask | Refuse | PlanOnly
