"""Finds the methods of effects that are not portal calls: messages, database operations, HTTP requests and others."""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.effect import EffectKind
from orchestrator.domain.own_reads import OWN_READS
from orchestrator.gate.call import reminders
from orchestrator.gate.call.kinds import file_methods, http_methods, knowledge_methods, mongo_methods, schedule_methods, telegram_methods
from orchestrator.gate.call.kinds.method import KindMethod
from state.stored import JsonObject

METHODS: Final[Mapping[str, Mapping[str, KindMethod]]] = {
    module.KIND: module.METHODS
    for module in (file_methods, http_methods, knowledge_methods, mongo_methods, schedule_methods, telegram_methods)
}
_WITHOUT_KIND: Final[Mapping[str, EffectKind]] = {
    **dict.fromkeys((reminders.ADD, *reminders.CHANGES), "schedule"),
    **dict.fromkeys(OWN_READS, "knowledge"),
}
"""Methods that a model proposes like calls of the portal, and the kinds to which they belong."""


def resolve_kind(kind: EffectKind, method: str) -> EffectKind:
    """Return the real kind of a proposed effect: a model proposes reminder.add like a portal call, with the kind "bitrix"."""
    return _WITHOUT_KIND.get(method.strip(), kind) if kind == "bitrix" else kind


def find_effect_kind(kind: str, method: str) -> Method | None:
    """Return the method `method` of the kind `kind`, also written without its kind (find_one for mongo.find_one), or None."""
    known, name = METHODS.get(kind, {}), method.strip()
    kind_method = known.get(name) or known.get(f"{kind}.{name}")
    return kind_method.spec if kind_method else None


def count_listed(kind: str, method: str, params: JsonObject) -> int:
    """Return how many changes a call of another kind than those of the portal makes: the new documents of an insertion count one by one."""
    if kind not in METHODS:
        return 1
    kind_method = METHODS[kind].get(method)
    listed = params.get(kind_method.counted) if kind_method is not None and kind_method.counted else None
    return len(listed) if isinstance(listed, list) else 1


def list_methods(kind: EffectKind) -> tuple[str, ...]:
    """Return the names of all methods that an effect of this kind may call."""
    return tuple(METHODS.get(kind, {}))


def list_policy_names() -> tuple[str, ...]:
    """Return all methods of all kinds, spelled as in a policy, such as mongo.delete_one."""
    return tuple(name if name.startswith(f"{kind}.") else f"{kind}.{name}" for kind, methods in METHODS.items() for name in methods)


def find_spec(catalogue: Catalogue, kind: str, method: str) -> Method | None:
    """Return the description of a method as a definition names it, None for an unknown one."""
    name = method.strip()
    real = _WITHOUT_KIND.get(name, kind) if kind == "bitrix" else kind
    return catalogue.find(name) if real == "bitrix" else find_effect_kind(real, name)


def find_method_classes(catalogue: Catalogue, kind: str, method: str) -> frozenset[str] | None:
    """Return the class letters that a call of this method may have; None if nobody knows the method, or if it is a batch of any others.

    A method whose parameters decide whether something is sent to people outside has N, too.
    """
    spec = find_spec(catalogue, kind, method)
    if spec is None or spec.name == "batch":
        return None
    return frozenset(spec.classes) | ({"N"} if spec.inward else frozenset())
