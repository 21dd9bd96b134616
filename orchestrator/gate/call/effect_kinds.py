"""Defines the methods of effects that are not portal calls: messages, database operations, HTTP requests and others.

They are refused unless the policy opens their kind. Only reminders are always allowed.
"""

from bitrix.catalogue.catalogue import Method, MethodClass, Verb
from orchestrator.domain.effect import EffectKind
from orchestrator.gate.call import reminders
from orchestrator.gate.call.kinds import methods, mongo_methods

_ROWS: dict[str, dict[str, tuple[MethodClass, Verb]]] = {
    "schedule": {"scenario_run": ("W", "add"), "message": ("W", "add"), "cancel": ("W", "delete"), reminders.ADD: ("W", "add")},
    "http": {"get": ("N", "action"), "post": ("N", "action")},
    "run": {"scenario": ("W", "action"), "flow": ("W", "action"), "workflow": ("W", "action")},
}


_REMINDER = Method(
    name=reminders.ADD,
    classes=("W",),
    verb="add",
    entity="reminder",
    idempotent=False,
    safe_create=True,
    fields_at="",
    params=("*",),
    forced={reminders.PERSON: ""},
    owner="self",
)
"""The method reminder.add: a reminder for the requester alone.

It therefore needs neither a card nor an opening by the policy, and a card does not show the person.
"""


def resolve_kind(kind: EffectKind, method: str) -> EffectKind:
    """Return the kind of a proposed effect (a call of the portal or of something else), corrected for reminders.

    A model proposes reminder.add like a portal call, with the kind "bitrix". Its real kind is "schedule".
    """
    return "schedule" if kind == "bitrix" and method.strip() == reminders.ADD else kind


def is_always_open(kind: EffectKind | str, method: str) -> bool:
    """Return whether the effect may be requested even if the policy does not open its kind. Only reminder.add may."""
    return kind == "schedule" and method == reminders.ADD


def find_effect_kind(kind: str, method: str) -> Method | None:
    """Return the definition of the method `method` of the kind `kind`, or None if there is none; names are case-sensitive."""
    if kind == mongo_methods.KIND:
        return mongo_methods.find_method(method.strip())
    if kind in methods.KINDS:
        return methods.find_method(kind, method)
    row = _ROWS.get(kind, {}).get(method.strip())
    if row is None:
        return None
    if method.strip() == reminders.ADD:
        return _REMINDER
    return Method(name=method.strip(), classes=(row[0],), verb=row[1], idempotent=row[0] == "R", fields_at="", params=("*",), owner="self")


def list_methods(kind: EffectKind) -> tuple[str, ...]:
    """Return the names of all methods that an effect of this kind may call."""
    if kind in methods.KINDS:
        return tuple(methods.KINDS[kind])
    return tuple(mongo_methods.METHODS) if kind == mongo_methods.KIND else tuple(_ROWS.get(kind, {}))


def list_policy_names() -> tuple[str, ...]:
    """Return all methods of all kinds, spelled as in a policy, such as mongo.delete_one."""
    return (*(f"{kind}.{method}" for kind, rows in _ROWS.items() for method in rows), *mongo_methods.METHODS, *methods.list_names())
