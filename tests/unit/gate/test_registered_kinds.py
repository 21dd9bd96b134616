"""What must hold for every registered kind of effects, so that a new kind is covered as soon as it is registered."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.translate import Translator
from orchestrator.domain.own_reads import REPORT
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.kinds.base import EffectKind, KindRequest
from orchestrator.gate.call.kinds.http import HTTP
from orchestrator.gate.call.kinds.method import KindMethod
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.modes import may_run
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.preview.kind_lines import _SYSTEM, _VIEWS
from orchestrator.language.lexicon import load_lexicon

METHODS = [pytest.param(kind, method, id=name) for kind in KINDS.values() for name, method in kind.methods.items()]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
BUILDERS_OF_THEIR_OWN = frozenset(name for name, view in _VIEWS.items() if view.build_lines.__name__ != "build_param_lines")


def a_call(kind: EffectKind, method: KindMethod, **params: Any) -> Call:
    """A call of a method."""
    return Call(kind=kind.name, method=method.spec.name, params=params, spec=method.spec, classes=method.spec.classes, portal="")


def normalize(kind: EffectKind, method: KindMethod, params: dict[str, Any]) -> dict[str, Any] | None:
    """The parameters as they are sent; None if they are refused."""
    try:
        return kind.normalize(KindRequest(method=method, effect_id="e-1", person="vera"), params)
    except Refusal:
        return None


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_the_empty_policy_opens_nothing(kind: EffectKind, method: KindMethod) -> None:
    """Only methods that are declared as always open run without a word in the policy."""
    refusal = kind.find_refusal(a_call(kind, method), Policy())
    assert (refusal is None) == (method.spec.name in kind.always_open)
    assert refusal is None or refusal.reason.code == "gate-kind"


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_canary_runs_reads_and_safe_creates_alone(kind: EffectKind, method: KindMethod) -> None:
    """Whatever the kind."""
    expected = method.spec.classes == ("R",) or (method.spec.safe_create and method.spec.classes == ("W",))
    assert may_run(a_call(kind, method), "canary") == expected


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_a_method_is_found_with_its_kind_and_without(kind: EffectKind, method: KindMethod) -> None:
    """Both spellings mean the same method."""
    name = method.spec.name
    assert kind.find_method(name) is method
    assert kind.find_method(name.removeprefix(f"{kind.name}.")) is method


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_parameters_are_closed_lists(kind: EffectKind, method: KindMethod) -> None:
    """A parameter that nobody declared is refused, whatever else is given."""
    assert method.params.model_config.get("frozen") or not method.params.model_fields
    if method.spec.name != REPORT:  # whose question is read by the room that counts, which refuses with the nearest name
        assert normalize(kind, method, {"nobody_declared_this": 1}) is None


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_a_card_has_words_for_a_method_and_its_parameters(kind: EffectKind, method: KindMethod) -> None:
    """In each language; the policy may ask before reads too."""
    names = {field.alias or name for name, field in method.params.model_fields.items()} - _SYSTEM
    for locale in ("ru", "en"):
        said = Translator(locale).describe_call(method.spec.name, method.spec.verb, method.spec.entity)
        assert said, f"no act-{method.spec.name.replace('.', '-')} in {locale}/acts.ftl"
        if kind.name not in BUILDERS_OF_THEIR_OWN and method.spec.name not in kind.always_open:
            assert all(load_lexicon("card_kinds").read_titles(f"{kind.name}_{name}")[locale] for name in names)


@pytest.mark.long
@given(data=st.data())
def test_any_parameters_are_refused_or_have_one_form(data: st.DataObject) -> None:
    """Normalizing raises nothing but a refusal, and changes nothing the second time."""
    kind = data.draw(st.sampled_from(list(KINDS.values())))
    method = data.draw(st.sampled_from(list(kind.methods.values())))
    names = [field.alias or name for name, field in method.params.model_fields.items()] or ["x"]
    once = normalize(kind, method, data.draw(st.dictionaries(st.sampled_from(names), JSON, max_size=4)))
    assert once is None or normalize(kind, method, once) == once


@given(data=st.data())
def test_http_parameters_that_are_accepted_keep_their_form(data: st.DataObject) -> None:
    """The address is a good one here, so that much is accepted."""
    method = data.draw(st.sampled_from(list(HTTP.methods.values())))
    asked = {"url": "https://api.example.com/x", "query": data.draw(st.dictionaries(st.text(max_size=5), st.text(max_size=9), max_size=3))}
    once = normalize(HTTP, method, asked)
    assert once is None or normalize(HTTP, method, once) == once


@pytest.mark.parametrize("letter", ["x", "я"])
def test_a_query_that_no_request_can_carry_is_refused_before_any_card(letter: str) -> None:
    """Its size counts as it is sent: one Cyrillic letter takes six signs."""
    method = HTTP.methods["http.get"]
    fits = 8_000 // (1 if letter == "x" else 6) - 2
    assert normalize(HTTP, method, {"url": "https://api.example.com", "query": {"q": letter * fits}}) is not None
    assert normalize(HTTP, method, {"url": "https://api.example.com", "query": {"q": letter * (fits + 4)}}) is None


def test_a_header_in_two_spellings_is_refused() -> None:
    """Otherwise one of the two values would vanish without a word."""
    given_twice = {"Accept": "text/plain", "accept": "application/json"}
    assert normalize(HTTP, HTTP.methods["http.get"], {"url": "https://api.example.com", "headers": given_twice}) is None
