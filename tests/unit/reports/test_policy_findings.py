"""Mistakes in the text of a policy are told to people in their language, each at its line, with what was probably meant."""

from collections.abc import Sequence

import pytest

from bot.i18n.translate import Translator
from orchestrator.domain.finding import Finding
from orchestrator.gate.call.policy import load_policy
from orchestrator.reports.policy_check import check_policy_text
from tests.unit.gate.gate_kit import catalogue

KINDS = ("flow", "scenario")


def _check(text: str) -> Sequence[Finding]:
    checked = check_policy_text(text, "mine.yaml", catalogue=catalogue(), in_force=load_policy(None), kinds=lambda _: KINDS)
    assert (checked.loaded is None) is bool(checked.mistakes)
    return checked.mistakes


@pytest.mark.parametrize(
    ("text", "line", "path", "code", "meant"),
    [
        ("rules: []\nrefuse_method: [x]\n", 2, "refuse_method", "finding-field-unknown", "refuse_methods"),
        ("rules: []\nrefuse_methods: [crm.deal.ad]\n", 2, "refuse_methods", "finding-policy-method-unknown", "crm.deal.add"),
        ("caps: {writes_a_day: 5}\n", 1, "caps.writes_a_day", "finding-field-unknown", "writes_per_day"),
        ("ask_above: -5\n", 1, "ask_above", "finding-value-least-open", ""),
        ("ask_above: much\n", 1, "ask_above", "finding-field-shape", ""),
        ("sum_jump: 1\n", 1, "sum_jump", "finding-value-least", ""),
        ("halt_on_block: maybe\n", 1, "halt_on_block", "finding-field-shape", ""),
        ("refuse_methods: 5\n", 1, "refuse_methods", "finding-field-shape", ""),
        ("caps: 5\n", 1, "caps", "finding-field-shape", ""),
        ("undo_for: soon\n", 1, "undo_for", "finding-policy-duration", ""),
        ("undo_for: 0m\n", 1, "undo_for", "finding-policy-duration-least", ""),
        ("currency: rub\n", 1, "currency", "finding-policy-code", ""),
        ("rates:\n  US: 3\n", 2, "rates.US", "finding-policy-code", ""),
        ("budget:\n  people: {Anna: {}}\n", 2, "budget.people.Anna", "finding-policy-person", ""),
        ("budget: {money_per_month: 5}\n", 1, "budget", "finding-policy-prices-missing", ""),
        ("http_hosts: [good.example, a.example/b]\n", 1, "http_hosts", "finding-policy-site", ""),
        ("rules:\n  - {role: manager, then: aks, why: x}\n", 2, "rules[0].then", "finding-value-unknown", "ask"),
        ("rules:\n  - {role: manager, then: ask}\n", 2, "rules[0].why", "finding-field-missing", ""),
        ('rules:\n  - {role: manager, then: ask, why: " "}\n', 2, "rules[0].why", "finding-policy-why", ""),
        ("rules:\n  - {then: refuse, why: x}\n", 2, "rules[0]", "finding-policy-condition-missing", ""),
        ('rules:\n  - {person: " ", then: refuse, why: x}\n', 2, "rules[0].person", "finding-policy-word-empty", ""),
        ("rules:\n  - {role: lead, currency: RUB, then: ask, why: x}\n", 2, "rules[0]", "finding-policy-currency-alone", ""),
        ("rules:\n  - {method: crm.deal.updat, then: ask, why: x}\n", 2, "rules[0].method", "finding-policy-pattern-unfit",
         "crm.deal.update"),
        ("rules:\n  - {entity: deals, then: ask, why: x}\n", 2, "rules[0].entity", "finding-policy-entity-unknown", "deal"),
        ("rules:\n  - {field: OPORTUNITY, then: ask, why: x}\n", 2, "rules[0].field", "finding-policy-field-unknown", "OPPORTUNITY"),
        ("definitions: {flows: {edit: lead}}\n", 1, "definitions.flows", "finding-policy-kind-unknown", "flow"),
        ("definitions: {flow: {edit: boss}}\n", 1, "definitions.flow.edit[0]", "finding-value-unknown", ""),
        ("ask_above: 1\nask_above: 2\n", 2, "ask_above", "finding-duplicate-key", ""),
        ("ask_above: [1\nrules: []\n", 2, "", "finding-yaml-flow", ""),
        ("- x\n", 1, "", "finding-policy-no-keys", ""),
        ("# nothing\n", 0, "", "finding-policy-empty", ""),
        ("catalogue:\n  - {name: crm.deal.add, classes: [W], verb: action, idempotent: false}\n", 1, "catalogue",
         "finding-policy-catalogue", ""),
    ],
)  # fmt: skip
def test_a_mistake_has_its_code_line_key_and_a_cure(text: str, line: int, path: str, code: str, meant: str) -> None:
    """People read it in Russian and English, and no argument of a sentence is missing."""
    [found] = _check(text)

    assert (found.line, found.path, found.code, found.suggestion) == (line, path, code, meant)
    for locale in ("ru", "en"):
        told = Translator(locale).translate_notice(found.notice)  # type: ignore[arg-type]
        assert told
        assert "{" not in told or "prices: {" in told
        assert code not in told
    assert found.message


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines() -> None:
    """Whoever mends a text does not find the next mistake after each."""
    text = "undo_for: soon\ncaps: {writes_per_day: -1}\nrules:\n  - {role: bosses, then: aks, why: x}\n"

    assert [(one.line, one.code) for one in _check(text)] == [
        (1, "finding-policy-duration"),
        (2, "finding-value-least"),
        (4, "finding-value-unknown"),
        (4, "finding-value-unknown"),
    ]


def test_what_was_written_is_quoted_and_cut() -> None:
    """A name of any length and with signs that turn the line around stands in the sentence as text."""
    [found] = _check(f'refuse_methods: ["\\u202e{"x" * 5000}"]\n')

    assert len(str(found.args["name"])) < 200
    assert "\u202e" not in str(found.args["name"])
