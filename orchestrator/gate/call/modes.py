"""What each safety mode allows, and what the model is told of (S004-3), never addresses (S004-42). Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from bitrix.catalogue.catalogue import Catalogue, Method
from orchestrator.domain.actor import MODES, Actor, Mode
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.policy import Policy

_RANKS: Final[Mapping[Mode, int]] = {mode: rank for rank, mode in enumerate(MODES)}


def resolve_mode(mode: Mode, actor: Actor) -> Mode:
    """The safer of the program's mode and the highest mode the person may use."""
    return mode if _RANKS[mode] <= _RANKS[actor.max_mode] else actor.max_mode


def may_run(call: Call, mode: Mode) -> bool:
    """Whether the mode allows the call (S004-8, S004-28, S004-68); in shadow every one, since none runs."""
    if mode != "canary":
        return True
    return call.reads_only or (call.spec.safe_create and set(call.classes) <= {"R", "W"})


def may_read_shared(method: Method, policy: Policy, *, sees_all: bool) -> bool:
    """Whether people may see what the program reads for everybody, as for the portal card."""
    if not method.reads_only or policy.is_listed(policy.refuse_methods, method.name):
        return False
    return method.owner == "reference" or sees_all


_WORDS = {"R": "reads", "W": "changes", "D": "deletes", "C": "configures the portal", "M": "money", "N": "sends outward"}


_SIGNS: Final = "In brackets what a call needs; ! changes something, !! reaches people; the others read."
_LEFT_OUT: Final = (
    "Methods that cannot be limited to one person's records are left out: if one is needed, say that it takes a head of sales. "
    "Lists hold the person's own records only, even if the filter names others."
)


def format_methods(
    catalogue: Catalogue, policy: Policy, mode: Mode, front: Mapping[str, str], *, unnamed: Sequence[str] = (), sees_all: bool = True
) -> str:
    """`front`: methods with a line of their own → hints; `unnamed`: patterns of those that only `method.help` names."""
    offered = {method.name: method for method in catalogue if is_offered(method, policy, mode, sees_all=sees_all)}
    lines = [_format_line(offered[name], hint) for name, hint in front.items() if name in offered]
    others = (name for name in offered if name not in front and not any(fnmatchcase(name, pattern) for pattern in unnamed))
    note = [] if sees_all else [_LEFT_OUT]
    return "\n".join([_SIGNS, *lines, *_format_groups(others), *note])


def is_offered(method: Method, policy: Policy, mode: Mode, *, sees_all: bool = True) -> bool:
    """This protects nothing: the gate checks every call anyway."""
    if method.owner == "unscoped" and not sees_all:
        return False
    if is_closed(method, policy) or (method.rare and not policy.is_listed(policy.open_methods, method.name)):
        return False
    return mode != "canary" or method.reads_only or method.safe_create or method.name == "batch"


def is_closed(method: Method, policy: Policy) -> bool:
    if policy.is_listed(policy.refuse_methods, method.name):
        return True
    return ("D" in method.classes or method.closed) and not policy.is_listed(policy.open_methods, method.name)


def describe_classes(method: Method) -> str:
    """In words: "changes, money"."""
    return ", ".join(_WORDS[name] for name in method.classes)


def _format_line(method: Method, hint: str) -> str:
    sign = "" if method.reads_only else "!!" if "N" in method.classes else "!"
    needs = f" ({', '.join(method.required)})" if method.required else ""
    return f"{method.name}{sign}{needs}{f': {hint}' if hint else ''}"


def _format_groups(names: Iterable[str]) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        group, _, last = name.rpartition(".")
        groups.setdefault(group, []).append(last)
    if groups:
        yield "Others by group (crm.vat: list means crm.vat.list); ask with method.help what one needs before you use it:"
    for group in sorted(groups):
        yield f"{group}: {', '.join(groups[group])}" if group else ", ".join(groups[group])
