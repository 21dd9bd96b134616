from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.effect import EffectKind
from orchestrator.domain.own_reads import NEXT, OWN_READS, SEND
from orchestrator.gate.call import reminders, standing_orders
from orchestrator.gate.call.kinds import (
    bulk_methods,
    file_methods,
    http_methods,
    knowledge_methods,
    mongo_methods,
    order_methods,
    schedule_methods,
    telegram_methods,
)
from orchestrator.gate.call.kinds.method import KindMethod
from state.stored import JsonObject

METHODS: Final[Mapping[str, Mapping[str, KindMethod]]] = {
    module.KIND: module.METHODS
    for module in (
        bulk_methods,
        file_methods,
        http_methods,
        knowledge_methods,
        mongo_methods,
        order_methods,
        schedule_methods,
        telegram_methods,
    )
}
_WITHOUT_KIND: Final[Mapping[str, EffectKind]] = {
    **dict.fromkeys((reminders.ADD, *reminders.CHANGES), "schedule"),
    **dict.fromkeys(standing_orders.STEPS, "order"),
    **dict.fromkeys(OWN_READS, "knowledge"),
    **dict.fromkeys(bulk_methods.METHODS, bulk_methods.KIND),
}


def resolve_kind(kind: EffectKind, method: str) -> EffectKind:
    """A model proposes reminder.add with the kind "bitrix"."""
    return _WITHOUT_KIND.get(method.strip(), kind) if kind == "bitrix" else kind


def list_steps() -> tuple[str, ...]:
    """Of code, which a model proposes beside methods of the portal."""
    return (*_WITHOUT_KIND, NEXT, SEND)


def list_steps_like(name: str) -> list[str]:
    """Those of code whose names begin alike: reminder.add for reminders.create."""
    family = name.strip().lower().partition(".")[0].rstrip("s")
    return [step for step in list_steps() if step.partition(".")[0] == family]


def find_effect_kind(kind: str, method: str) -> Method | None:
    """The kind before the name may be missing (find_one)."""
    known, name = METHODS.get(kind, {}), method.strip()
    kind_method = known.get(name) or known.get(f"{kind}.{name}")
    return kind_method.spec if kind_method else None


def count_listed(kind: str, method: str, params: JsonObject) -> int:
    if kind not in METHODS:
        return 1
    kind_method = METHODS[kind].get(method)
    documents = params.get(kind_method.counted) if kind_method is not None and kind_method.counted else None
    return len(documents) if isinstance(documents, list) else 1


def list_methods(kind: EffectKind) -> tuple[str, ...]:
    return tuple(METHODS.get(kind, {}))


def list_policy_names() -> tuple[str, ...]:
    return tuple(name if name.startswith(f"{kind}.") else f"{kind}.{name}" for kind, methods in METHODS.items() for name in methods)


def find_spec(catalogue: Catalogue, kind: str, method: str) -> Method | None:
    """None for an unknown method."""
    name = method.strip()
    real = _WITHOUT_KIND.get(name, kind) if kind == "bitrix" else kind
    return catalogue.find(name) if real == "bitrix" else find_effect_kind(real, name)


def find_method_classes(catalogue: Catalogue, kind: str, method: str) -> frozenset[str] | None:
    """None for an unknown method and for a batch.

    N is among them if the parameters decide whether something is sent outside.
    """
    spec = find_spec(catalogue, kind, method)
    if spec is None or spec.name == "batch":
        return None
    return frozenset(spec.classes) | ({"N"} if spec.inward else frozenset())
