"""Looks up what one call means by the catalogue: its kind of record, its target, what it is tied to, and its classes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from orchestrator.domain.frozen import computed_once
from orchestrator.gate.call.linked_records import LinkedRecord, find_bound_records
from orchestrator.gate.call.targets import Target, as_id, find_definitions, find_entity_name, get_at_path
from state.stored import JsonObject


def read_places(spec: Method, params: JsonObject) -> dict[str, object]:
    """Return the parameters, as dotted paths, that hold the id of the call's record, each with what is written there."""
    return {path: written for path in spec.target if (written := get_at_path(params, path)) is not None}


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """What a method and its parameters mean. Each answer is looked up once, and holds for this method and these parameters only."""

    spec: Method
    params: JsonObject
    catalogue: Catalogue

    @computed_once
    def kind(self) -> str:
        """The kind of record that the parameters name, such as "deal" or "item:177"; "" if it is unknown."""
        return find_entity_name(self.spec, self.params, self.catalogue)

    @property
    def entity(self) -> str:
        """The kind of record that the written fields belong to: "activity" even if the parameters name the activity's deal."""
        return self.kind if self.spec.entity == "item" else self.spec.entity

    @computed_once
    def definition(self) -> Entity | None:
        """The catalogue's definition of `entity`."""
        return find_definitions(self.entity, catalogue=self.catalogue).get(self.entity)

    @computed_once
    def entities(self) -> dict[str, Entity]:
        """The catalogue's definitions of all kinds of record in this call."""
        own = {self.entity: self.definition} if self.definition is not None else {}
        others = dict.fromkeys(name for name in (self.kind, *(link.entity for link in self.bound)) if name and name not in own)
        return {**own, **find_definitions(*others, catalogue=self.catalogue)} if others else own

    @computed_once
    def places(self) -> Mapping[str, object]:
        """See `read_places`."""
        return read_places(self.spec, self.params)

    @computed_once
    def targets(self) -> tuple[Target, ...]:
        """The existing record that the call reads or changes; empty if it needs none, or does not clearly say which."""
        number = as_id(next(iter(self.places.values()), None))
        return ((self.kind, number),) if number is not None and self.kind else ()

    @property
    def is_unclear(self) -> bool:
        """Whether the method needs a record but the call does not clearly say which."""
        return bool(self.spec.target) and not self.targets

    @computed_once
    def bound(self) -> tuple[LinkedRecord, ...]:
        """The records, other than the target, to which the call attaches something, as far as they can be read."""
        return find_bound_records(self.spec, self.params, self.catalogue)

    @property
    def ties(self) -> tuple[Target, ...]:
        """Those of them that have a number."""
        return tuple(dict.fromkeys((link.entity, link.number) for link in self.bound if link.number is not None))

    @property
    def classes(self) -> tuple[str, ...]:
        """The class letters of this call; an activity that is not certainly internal also gets N: something may be sent outside."""
        outward = any(str(get_at_path(self.params, path) or "") not in harmless for path, harmless in self.spec.inward.items())
        return tuple(dict.fromkeys([*self.spec.classes, "N"])) if outward else self.spec.classes

    def follow(self, params: JsonObject) -> "Lookup":
        """Return the lookup of the same method with other parameters; only the kind of record stays where they name it as before."""
        after = Lookup(spec=self.spec, params=params, catalogue=self.catalogue)
        name = self.spec.target_entity or self.spec.entity
        if not name.startswith("@") or get_at_path(params, name[1:]) is get_at_path(self.params, name[1:]):
            vars(after).update(kind=self.kind, definition=self.definition)
        return after

    def finds_same(self, other: "Lookup") -> bool:
        """Return whether both are about the same records, named in the same places."""
        return (self.kind, self.places, self.bound) == (other.kind, other.places, other.bound)
