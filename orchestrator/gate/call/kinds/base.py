"""What a kind of effects other than calls of the portal is: its methods, and how the gate checks, completes and describes its calls.

A new kind has a module here with an `EffectKind` that stands in `registry.KINDS`, its methods in `effect_kinds.METHODS`, a performer
(orchestrator/performers) that bot/composition/outside.py hands to the gate, and its words: act-<kind>-<method> in acts.ftl, the names of
its parameters in data/language/card_kinds.yaml.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import ValidationError

from orchestrator.domain.outputs import Notice
from orchestrator.domain.taint import Origin
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


@dataclass(frozen=True, kw_only=True)
class KindRequest:
    """One proposed effect: what its kind needs beside the parameters to complete them."""

    method: KindMethod
    effect_id: str
    person: str
    role: str = ""
    zone: str = "UTC"
    locale: Locale = "ru"
    keys: frozenset[str] = frozenset()
    """The names of fields in objects that came from outside of the definition as whole values; see `Provenance.keys`."""


def validate_params(request: KindRequest, given: JsonObject) -> dict[str, Any]:
    """Return the parameters in their only form. Raises Refusal with every mistake, each with its place."""
    try:
        made = request.method.params.model_validate(given)
    except ValidationError as error:
        raise _build_params_refusal(request.method.spec.name, error) from None
    return made.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _build_params_refusal(method: str, error: ValidationError) -> Refusal:
    said = []
    for one in error.errors(include_url=False, include_input=False)[:_SHOWN_MISTAKES]:
        place = ".".join(str(part) for part in one["loc"])
        text = one["msg"].removeprefix("Value error, ")
        said.append(text if place and text.startswith(place.partition(".")[0]) else f"{place}: {text}")
    why = "; ".join(said)
    found = refuse("gate-kind-params", method=method, why=why, param=said[0].partition(":")[0])
    # The author has to mend all of them, however long the sentence is; the names of fields in it may be those of a stranger's object.
    return Refusal(replace(found, detail=f"{method}: {escape_text(why, limit=_LONGEST_DETAIL)}", foreign_text=True, is_form=True))


@dataclass(frozen=True, kw_only=True)
class EffectKind:
    """A kind of effects. Its calls are refused unless the policy opens the kind (`open_kinds`), the guard allows them, and it is set up."""

    name: str
    methods: Mapping[str, KindMethod]
    origin: Origin
    """Where the values come from that its calls answer; what strangers may have written makes every later write ask."""
    setting: str = ""
    """The setting without which there is no performer, for the sentence that says so."""
    normalize: Callable[[KindRequest, JsonObject], dict[str, Any]] = validate_params
    """Returns the parameters as they will be sent, or raises Refusal. Idempotent for the same effect."""
    drop_marks: Callable[[JsonObject], JsonObject] | None = None
    """Returns the parameters without what differs with each effect, so that equal requests are recognized."""
    guard: Callable[[Call, Policy], Refuse | None] = lambda _call, _policy: None
    """Returns why the policy does not allow the call: the host, chat, collection or place is not in its lists."""
    collect_reasons: Callable[[Call, Facts], Iterable[Notice]] = lambda _call, _facts: ()
    """Yields reasons to ask a person that the class of the method does not give."""
    list_titles: Callable[[Call, Policy], Mapping[str, str]] = lambda _call, _policy: {}
    """Returns what the policy calls the fields that a call touches; see `Facts.titles`."""
    always_open: frozenset[str] = frozenset()
    """Methods that run although the policy does not open the kind."""
    find_targets: Callable[[JsonObject], tuple[Target, ...]] = lambda _params: ()
    """Returns the records of the portal that a call is about; the requester's right to see them is checked as for a call of the portal."""
    in_shadow: frozenset[str] = frozenset()
    """Methods that run in shadow mode too: they read nothing outside of the program."""
    outward: str = "gate-class-outward"

    def find_method(self, name: str) -> KindMethod | None:
        """Return the method `name`, written with its kind or without: mongo.find_one, find_one; None if there is none."""
        written = name.strip()
        return self.methods.get(written) or self.methods.get(f"{self.name}.{written}")

    def build_essence(self, method: str, params: JsonObject) -> str:
        """Return the checksum of what a call asks for; "" if it is that of all its parameters."""
        return hash_text(dumps([self.name, method, self.drop_marks(params)])) if self.drop_marks is not None else ""

    def find_refusal(self, call: Call, policy: Policy) -> Refuse | None:
        """Return why the policy does not allow the call; None if it does."""
        if call.method in self.always_open:
            return None
        if self.name not in policy.open_kinds:
            return refuse("gate-kind", kind=self.name, method=call.method)
        if (found := self.guard(call, policy)) is not None:
            return found
        if "D" in call.classes and not policy.is_listed(policy.open_methods, call.method):
            return refuse("gate-delete", method=call.method)
        return None
