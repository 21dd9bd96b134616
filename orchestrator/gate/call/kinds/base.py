"""How calls of a kind other than the portal's are checked, completed and described.

A new kind stands in `registry.KINDS` and `effect_kinds.METHODS`, and has a performer.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Origin
from orchestrator.domain.value_faults import describe_fault, find_place
from orchestrator.gate.call.effect import Call, Facts, Refuse, Target
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.kinds.method import KindMethod
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import refuse
from orchestrator.language.text import Locale
from state.canonical import dumps, hash_text
from state.stored import JsonObject

_SHOWN_MISTAKES: Final = 20
_LONGEST_DETAIL: Final = 1_500
_UNKNOWN: Final = "extra_forbidden"
_OURS: Final = frozenset({"person", "role", "zone", "locale", "sees"})
"""What the program writes itself."""


@dataclass(frozen=True, kw_only=True)
class KindRequest:
    method: KindMethod
    effect_id: str
    person: str
    role: str = ""
    zone: str = "UTC"
    locale: Locale = "ru"
    sees: frozenset[int] | None = frozenset()
    """The people whose records the requester may see; None for everybody's."""
    keys: frozenset[str] = frozenset()
    """Names that came from outside the definition inside of whole values; see `Provenance.keys`."""


def validate_params(request: KindRequest, proposed: JsonObject) -> dict[str, Any]:
    """The parameters in their only form. Raises Refusal with every mistake, each with its place."""
    try:
        valid = request.method.params.model_validate(proposed)
    except ValidationError as error:
        raise _build_params_refusal(request.method, error, proposed) from None
    return valid.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _build_params_refusal(asked: KindMethod, error: ValidationError, proposed: JsonObject) -> Refusal:
    method, mistakes, first = asked.spec.name, [], ""
    for fault in error.errors(include_url=False, include_input=False)[:_SHOWN_MISTAKES]:
        place = find_place(fault, proposed)
        first = first or place
        text = describe_fault(fault)
        mistakes.append(text if text.startswith(place.partition(".")[0]) else f"{place}: {text}")
    why = "; ".join(mistakes)
    # A person reads `param`, so it is a place and never the sentence behind it, which is English.
    written, colon, _ = mistakes[0].partition(":")
    refusal = refuse("gate-kind-params", method=method, why=why, param=written if colon and " " not in written else first or method)
    # The author has to mend all of them, however long the sentence is; the names of fields in it may be those of a stranger's object.
    takes = _list_params(asked) if any(fault["type"] == _UNKNOWN and len(fault["loc"]) == 1 for fault in error.errors()) else ""
    detail = f"{method}: {escape_text(why, limit=_LONGEST_DETAIL)}{takes}"
    return Refusal(replace(refusal, detail=detail, foreign_text=True, is_form=True))


def _list_params(asked: KindMethod) -> str:
    names = [field.alias or name for name, field in asked.params.model_fields.items() if name not in _OURS]
    return f"; it takes: {', '.join(names)}" if names else ""


@dataclass(frozen=True, kw_only=True)
class EffectKind:
    """Its calls run only if the policy opens the kind (`open_kinds`) and the guard allows them."""

    name: str
    methods: Mapping[str, KindMethod]
    origin: Origin
    """Where its answers come from; text that strangers may have written makes every later write ask."""
    setting: str = ""
    normalize: Callable[[KindRequest, JsonObject], dict[str, Any]] = validate_params
    """Returns the parameters as they will be sent, or raises Refusal. Idempotent for the same effect."""
    drop_marks: Callable[[JsonObject], JsonObject] | None = None
    """Drops what differs with each effect, so that equal requests are recognized."""
    guard: Callable[[Call, Policy], Refuse | None] = lambda _call, _policy: None
    collect_reasons: Callable[[Call, Facts], Iterable[Notice]] = lambda _call, _facts: ()
    list_titles: Callable[[Call, Policy], Mapping[str, str]] = lambda _call, _policy: {}
    """See `Facts.titles`."""
    always_open: frozenset[str] = frozenset()
    find_targets: Callable[[JsonObject], tuple[Target, ...]] = lambda _params: ()
    """The requester must be allowed to see these records."""
    in_shadow: frozenset[str] = frozenset()
    """They read nothing outside the program."""
    outward: str = "gate-class-outward"

    def find_method(self, name: str) -> KindMethod | None:
        """The method `name`, with or without its kind: mongo.find_one, find_one."""
        method_name = name.strip()
        return self.methods.get(method_name) or self.methods.get(f"{self.name}.{method_name}")

    def build_essence(self, method: str, params: JsonObject) -> str:
        """Empty if all parameters count."""
        return hash_text(dumps([self.name, method, self.drop_marks(params)])) if self.drop_marks is not None else ""

    def find_refusal(self, call: Call, policy: Policy) -> Refuse | None:
        if call.method in self.always_open:
            return None
        if self.name not in policy.open_kinds:
            return refuse("gate-kind", kind=self.name, method=call.method)
        if (refusal := self.guard(call, policy)) is not None:
            return refusal
        if "D" in call.classes and not policy.is_listed(policy.open_methods, call.method):
            return refuse("gate-delete", method=call.method)
        return None
