"""Several changes taken back at once: those of one record, made one after the other, become one call. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.outputs import Notice
from orchestrator.features.undo.rules import Conflict, Records, RestoreCall, plan_restore
from orchestrator.gate.call.effect import Target
from orchestrator.gate.call.fields import to_field_key
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.undo.undo_policy import UndoPart
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A call to propose, and the changes that it takes back, the newest first."""

    effect_ids: tuple[str, ...]
    slot: str
    plan: RestoreCall


class Drafts:
    """Changes are added the newest first, so that an older one is judged by the record as the newer ones leave it."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._restored: dict[Target, JsonObject] = {}
        self.drafts: list[Draft] = []

    def add(self, effect_id: str, slot: str, parts: tuple[UndoPart, ...], records: Records) -> Conflict | Notice | None:
        """None if it is drafted, else why not."""
        plan = plan_restore(parts, records, self._catalogue)
        targets = {part.target for part in parts}
        newer = [place for place, draft in enumerate(self.drafts) if targets.intersection(draft.plan.targets)]
        if newer:
            behind = plan_restore(parts, {**records, **self._restored}, self._catalogue)
            place = newer[-1]
            both = self._merge(self.drafts[place].plan, behind) if isinstance(behind, RestoreCall) else None
            if both is not None:
                self.drafts[place] = replace(self.drafts[place], plan=both, effect_ids=(*self.drafts[place].effect_ids, effect_id))
                self._restore(both, records)
                return None
            if not isinstance(plan, RestoreCall):
                return Notice(code="undo-in-turn")
        if not isinstance(plan, RestoreCall):
            return plan
        self.drafts.append(Draft(effect_ids=(effect_id,), slot=slot, plan=plan))
        self._restore(plan, records)
        return None

    def _merge(self, newer: RestoreCall, older: RestoreCall) -> RestoreCall | None:
        """None unless both write fields of the same record in the same way."""
        first, second = self._find_fields(newer), self._find_fields(older)
        if first is None or second is None or newer.method != older.method or newer.targets != older.targets:
            return None
        at = self._find_place(newer)
        return replace(newer, params={**newer.params, at: {**first, **second}})

    def _find_place(self, plan: RestoreCall) -> str:
        spec = self._catalogue.find(plan.method)
        return spec.fields_at if spec is not None and spec.verb == "update" and len(plan.targets) == 1 else ""

    def _find_fields(self, plan: RestoreCall) -> Mapping[str, object] | None:
        written = plan.params.get(self._find_place(plan))
        return written if isinstance(written, Mapping) and not any(map(is_multifield, written)) else None

    def _restore(self, plan: RestoreCall, records: Records) -> None:
        written = self._find_fields(plan)
        record = records.get(plan.targets[0])
        if written is None or record is None:
            return
        entity = plan.targets[0][0]
        keys = {to_field_key(name, entity) for name in written}
        others = {name: value for name, value in record.items() if to_field_key(name, entity) not in keys}
        self._restored[plan.targets[0]] = {**others, **written}
