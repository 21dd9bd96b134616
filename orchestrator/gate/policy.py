"""What the owner of the portal decided in data/policy.yaml and POLICY_FILE. Ring 2: it is read once, at start, and whole."""

import difflib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from bitrix.catalogue import Catalogue, Method
from orchestrator.errors import SettingsError
from orchestrator.gate import kinds
from orchestrator.messages import EffectKind, Frozen

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "policy.yaml"


class Policy(Frozen):
    """The owner's rules on top of the catalogue. Method names are matched without regard to case."""

    open_methods: frozenset[str] = frozenset()
    """Methods of class D and closed rows that may be asked for; a deletion then needs a second tap."""
    refuse_methods: frozenset[str] = frozenset()
    """Never, whoever asks and whatever the mode. Stronger than open_methods."""
    ask_methods: frozenset[str] = frozenset()
    """Always ask, even for reads."""
    ask_people: frozenset[str] = frozenset()
    """Keys of actors each of whose changes asks."""
    ask_above: Decimal | None = Field(default=None, gt=0)
    """A change of a record whose sum is above this asks, whatever changes."""
    four_eyes_above: Decimal | None = Field(default=None, gt=0)
    """Above this sum another person with role lead must approve."""
    critical_fields: frozenset[str] = frozenset()
    """Further fields, such as UF_CRM_DISCOUNT, whose change asks."""
    halt_on_block: bool = False
    """Stop a plan at its first step that waits or is refused (S004-A4)."""
    event_handler_hosts: frozenset[str] = frozenset()
    """Hosts that event.bind may send the portal's events to."""
    open_kinds: frozenset[EffectKind] = frozenset()
    """Kinds of effects other than portal calls that may be asked for or run."""
    telegram_chats: frozenset[int] = frozenset()
    """Chats that an effect may write to, besides the one that asked."""
    http_hosts: frozenset[str] = frozenset()
    """Hosts that an http effect may call."""
    catalogue: tuple[Method, ...] = ()
    """Further catalogue rows."""

    def names(self, listed: frozenset[str], method: str) -> bool:
        """Whether `method` is in one of the lists above."""
        return method.lower() in {name.strip().lower() for name in listed}


def load_policy(path: Path | None, *, shipped: Path = SHIPPED) -> Policy:
    """The shipped policy with the keys of `path` in their place; raises SettingsError with every mistake at once."""
    merged: dict[str, Any] = {}
    lines: dict[str, tuple[str, int]] = {}
    for source in (shipped, path) if path else (shipped,):
        content, places = _read(source)
        merged.update(content)
        lines.update({key: (source.name, line) for key, line in places.items()})
    try:
        return Policy.model_validate(merged)
    except ValidationError as error:
        raise SettingsError("\n".join(_mistakes(error, lines))) from None


def check_policy(policy: Policy, catalogue: Catalogue) -> tuple[str, ...]:
    """A sentence for every listed method that the catalogue does not know: a misspelt refusal would refuse nothing."""
    return tuple(_unknown_names(policy, catalogue))


def _unknown_names(policy: Policy, catalogue: Catalogue) -> Iterator[str]:
    known = [*(method.name for method in catalogue), *kinds.listed()]
    for key in ("open_methods", "refuse_methods", "ask_methods"):
        for name in sorted(getattr(policy, key)):
            if name.strip().lower() not in {one.lower() for one in known}:
                yield f"policy: {key}: {name!r} is not in the catalogue.{_suggest(name, known)}"


def _read(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except (OSError, UnicodeError) as error:
        raise SettingsError(
            f"POLICY_FILE {path.name}: cannot be read ({type(error).__name__}); check the path and the encoding (UTF-8)"
        ) from None
    except yaml.YAMLError as error:
        raise SettingsError(f"POLICY_FILE {path.name}: not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return {}, {}
    if not isinstance(content, Mapping) or not isinstance(node, yaml.MappingNode):
        raise SettingsError(f"POLICY_FILE {path.name}: line 1: must be a map of keys such as `refuse_methods: [crm.deal.add]`")
    places: dict[str, int] = {}
    for key, _ in node.value:
        if key.value in places:
            raise SettingsError(f"POLICY_FILE {path.name}: line {key.start_mark.line + 1}: `{key.value}` is given twice; keep one")
        places[key.value] = key.start_mark.line + 1
    return {str(key): value for key, value in content.items()}, places


def _mistakes(error: ValidationError, lines: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    for found in error.errors():
        top, *rest = (str(part) for part in found["loc"])
        name, line = lines[top]
        where = f"POLICY_FILE {name}: line {line}: `{'.'.join([top, *rest])}`"
        if found["type"] == "extra_forbidden":
            known = Method.model_fields if top == "catalogue" and rest else Policy.model_fields
            yield f"{where}: no such key; remove it.{_suggest((rest or [top])[-1], list(known))}"
        else:
            yield f"{where}: {found['msg']}; got {found['input']!r:.60}"


def _suggest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""
