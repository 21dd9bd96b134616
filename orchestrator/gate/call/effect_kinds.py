"""What effects other than portal calls may be: one row per kind and method, all but reminders refused unless the policy opens the kind."""

from bitrix.catalogue.catalogue import Method, MethodClass, Verb
from orchestrator.domain.effect import EffectKind
from orchestrator.gate.call import reminders

_ROWS: dict[EffectKind, dict[str, tuple[MethodClass, Verb]]] = {
    "telegram": {"send_message": ("N", "action"), "send_photo": ("N", "action"), "send_document": ("N", "action")},
    "mongo": {
        "find_one": ("R", "get"),
        "find_many": ("R", "list"),
        "count": ("R", "get"),
        "insert_one": ("W", "add"),
        "insert_many": ("W", "add"),
        "update_one": ("W", "update"),
        "update_many": ("W", "update"),
        "delete_one": ("D", "delete"),
        "delete_many": ("D", "delete"),
    },
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
"""For oneself alone, so that it needs neither a card nor an opening by the policy; a card does not show whose it is."""


def resolve_kind(kind: EffectKind, method: str) -> EffectKind:
    """The kind of an effect that was proposed without one: a model names methods only."""
    return "schedule" if kind == "bitrix" and method.strip() == reminders.ADD else kind


def is_always_open(kind: EffectKind | str, method: str) -> bool:
    """Whether it may be asked for although the policy does not open its kind."""
    return kind == "schedule" and method == reminders.ADD


def find(kind: EffectKind, method: str) -> Method | None:
    """The row of a method of that kind, None when there is none; names are matched as they are written."""
    row = _ROWS.get(kind, {}).get(method.strip())
    if row is None:
        return None
    if method.strip() == reminders.ADD:
        return _REMINDER
    return Method(name=method.strip(), classes=(row[0],), verb=row[1], idempotent=row[0] == "R", fields_at="", params=("*",), owner="self")


def list_methods(kind: EffectKind) -> tuple[str, ...]:
    """Every method of that kind."""
    return tuple(_ROWS.get(kind, {}))


def list_policy_names() -> tuple[str, ...]:
    """Every row as a policy names it, such as mongo.delete_one."""
    return tuple(f"{kind}.{method}" for kind, rows in _ROWS.items() for method in rows)
