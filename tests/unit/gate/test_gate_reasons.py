"""Every reason has a sentence for the model and one for people in both languages."""

import re
from functools import cache
from pathlib import Path

import pytest
from fluent.runtime import FluentBundle, FluentResource
from fluent.syntax import FluentParser, ast

from orchestrator.gate.call.reasons import ASKS, BATCH_ASKS, BATCH_REFUSALS, REFUSALS, SENTENCES, ask, format_english, refuse, wrap_in_batch
from tests.unit.gate.gate_kit import ROOT

HELPERS = {"gate-field"}
LANGUAGES = ("ru", "en")
EARLY = {  # refused while the call is brought into form, before commands are judged one by one; never wrapped
    "gate-method-odd", "gate-method-unknown", "gate-params", "gate-param-unknown", "gate-filter-field", "gate-param-missing", "gate-param-invalid",
    "gate-param-twice", "gate-param-reserved", "gate-origin", "gate-responsible", "gate-batch-broken", "gate-filter-foreign",
    "gate-filter-unclear", "gate-denied-now", "gate-withdrawn", "gate-no-user", "gate-delete", "gate-cap-batch", "gate-cap-day",
    "gate-must-read",
    "gate-foreign-request",  # says it of a whole batch too
}  # fmt: skip
WHOLE = {
    "gate-policy-person",
    "gate-policy-amount",
    "gate-four-eyes",
    "gate-model-asks",
    "gate-undo",
    "gate-denied-before",
    "gate-batch-twice",
}


def _path(language: str) -> Path:
    return ROOT / "bot" / "i18n" / language / "gate.ftl"


@cache
def _bundle(language: str) -> FluentBundle:
    bundle = FluentBundle([language], use_isolating=False)
    bundle.add_resource(FluentResource(_path(language).read_text(encoding="utf-8")))
    return bundle


def _messages(language: str) -> dict[str, ast.Message]:
    resource = FluentParser().parse(_path(language).read_text(encoding="utf-8"))
    assert not [entry for entry in resource.body if isinstance(entry, ast.Junk)]
    return {entry.id.name: entry for entry in resource.body if isinstance(entry, ast.Message)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_codes_and_catalogue_agree_both_ways(language: str) -> None:
    """No code without a sentence, no sentence without a code."""
    gate = {name for name in _messages(language) if name.startswith("gate-")}
    assert gate == set(SENTENCES) | HELPERS


def test_the_languages_have_the_same_messages() -> None:
    """Headings of cards too."""
    assert set(_messages("ru")) == set(_messages("en"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("code", sorted(SENTENCES))
def test_a_sentence_can_be_said_with_the_arguments_of_its_code(language: str, code: str) -> None:
    """What the English sentence takes is enough for people's, and nothing is left unsaid."""
    bundle = _bundle(language)
    args = {"doing": "x", "called": "x", "titles": "x", **dict.fromkeys(re.findall(r"{(\w+)}", SENTENCES[code]), "x")}
    inner = "gate-not-yours" if code == "gate-batch-refused" else "gate-critical"
    wrapped = (
        {"reason": inner, "id": 5, "entity": "deal", "field": "OPPORTUNITY", "part": "x", "part_title": "x", "part_named": "yes"}
        if code in BATCH_ASKS or code in BATCH_REFUSALS
        else {}
    )
    pattern = bundle.get_message(code).value
    assert pattern is not None
    text, errors = bundle.format_pattern(pattern, {**args, **wrapped})
    assert not errors
    assert text
    assert "{" not in str(text)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("code", "inner"), [("gate-batch-refused", set(REFUSALS) - EARLY), ("gate-batch-asks", set(ASKS) - WHOLE)])
def test_a_command_of_a_batch_says_its_reason_in_words(language: str, code: str, inner: set[str]) -> None:
    """Each reason that a command can have has its variant."""
    pattern = _messages(language)[code].value
    choices = [
        element.expression
        for element in pattern.elements
        if isinstance(element, ast.Placeable) and isinstance(element.expression, ast.SelectExpression)
    ]
    keys = {variant.key.name for choice in choices for variant in choice.variants if isinstance(variant.key, ast.Identifier)}
    assert keys - {"other"} == inner


def test_arguments_are_short_plain_text() -> None:
    """A stranger's text in an argument cannot carry hidden signs or fill the screen."""
    found = ask("gate-param-missing", method="m\u202e", param="x" * 500)
    assert found.args["method"] == "m�"
    assert len(found.args["param"]) == 120
    assert refuse("gate-not-found", entity="deal", id=5).detail == "there is no deal 5."


def test_a_wrapped_reason_keeps_what_it_is_about() -> None:
    """The command's key and the inner arguments stand side by side."""
    notice = wrap_in_batch("gate-batch-asks", ask("gate-critical", field="OPPORTUNITY"), key="d", method="crm.deal.update")
    assert notice.args == {
        "field": "OPPORTUNITY",
        "key": "d",
        "method": "crm.deal.update",
        "reason": "gate-critical",
        "text": "OPPORTUNITY of an existing record changes.",
        "part": {"code": "batch-part", "args": {"entity": "", "title": "none", "number": 0, "method": "crm.deal.update"}},
        "part_title": "none",
        "part_named": "no",
    }
    assert format_english(notice).startswith("command d (crm.deal.update)")
