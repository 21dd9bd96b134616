"""What one call means by the catalogue. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from bitrix.catalogue.catalogue import Catalogue, Entity, Method
from orchestrator.domain.frozen import computed_once
from orchestrator.gate.call.targets import LinkedRecord, Target, as_id, find_bound_records, find_definitions, find_entity_name, get_at_path
from state.stored import JsonObject


def read_places(spec: Method, params: JsonObject) -> dict[str, object]:
    return {path: id_value for path in spec.target if (id_value := get_at_path(params, path)) is not None}


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """Holds for this method and these parameters only."""

    spec: Method
    params: JsonObject
    catalogue: Catalogue

    @computed_once
    def kind(self) -> str:
        """Such as "deal" or "item:177"; "" if it is unknown."""
        return find_entity_name(self.spec, self.params, self.catalogue)

    @property
    def entity(self) -> str:
        """It is "activity" even if the parameters name the activity's deal."""
        return self.kind if self.spec.entity == "item" else self.spec.entity

    @computed_once
    def definition(self) -> Entity | None:
        return find_definitions(self.entity, catalogue=self.catalogue).get(self.entity)

    @computed_once
    def entities(self) -> dict[str, Entity]:
        own = {self.entity: self.definition} if self.definition is not None else {}
        others = dict.fromkeys(name for name in (self.kind, *(link.entity for link in self.bound)) if name and name not in own)
        return {**own, **find_definitions(*others, catalogue=self.catalogue)} if others else own

    @computed_once
    def places(self) -> Mapping[str, object]:
        return read_places(self.spec, self.params)

    @computed_once
    def targets(self) -> tuple[Target, ...]:
        """Empty if the method needs none, or the call does not clearly say which."""
        number = as_id(next(iter(self.places.values()), None))
        return ((self.kind, number),) if number is not None and self.kind else ()

    @property
    def is_unclear(self) -> bool:
        return bool(self.spec.target) and not self.targets

    @computed_once
    def bound(self) -> tuple[LinkedRecord, ...]:
        return find_bound_records(self.spec, self.params, self.catalogue)

    @property
    def ties(self) -> tuple[Target, ...]:
        return tuple(dict.fromkeys((link.entity, link.number) for link in self.bound if link.number is not None))

    @property
    def classes(self) -> tuple[str, ...]:
        """An activity that is not certainly internal also gets N: something may be sent outside."""
        outward = any(str(get_at_path(self.params, path) or "") not in harmless for path, harmless in self.spec.inward.items())
        return tuple(dict.fromkeys([*self.spec.classes, "N"])) if outward else self.spec.classes

    def follow(self, params: JsonObject) -> "Lookup":
        after = Lookup(spec=self.spec, params=params, catalogue=self.catalogue)
        name = self.spec.target_entity or self.spec.entity
        if not name.startswith("@") or get_at_path(params, name[1:]) is get_at_path(self.params, name[1:]):
            vars(after).update(kind=self.kind, definition=self.definition)
        return after

    def finds_same(self, other: "Lookup") -> bool:
        return (self.kind, self.places, self.bound) == (other.kind, other.places, other.bound)
