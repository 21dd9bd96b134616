"""Every write of the catalogue says in words of its own what it does, and no two acts share a heading."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from bitrix.catalogue.catalogue import Method, load_catalogue
from bot.i18n.translate import Locale, Translator, build_act_code
from bot.rendering.headings import render_heading
from bot.rendering.progress import Step, render_step
from bot.rendering.record_changes import render_history
from bot.rendering.spans import to_plain_text
from orchestrator.domain.card_view import PreviewPart
from orchestrator.gate.call.effect_kinds import find_effect_kind, list_policy_names
from orchestrator.gate.preview.preview import find_verb
from tests.unit.bot.i18n.message_ids import list_message_ids

CATALOGUE = Path(__file__).parents[4] / "data/catalogue"
LOCALES: tuple[Locale, ...] = ("ru", "en")
_OLDER = "the older method of the same catalogue of products"
_ALIASES = {
    ("crm.activity.add", "crm.activity.todo.add"): "a to-do is an activity: both plan one on a record",
    ("crm.activity.todo.update", "crm.activity.update"): "a to-do is an activity",
    **{
        (f"catalog.{new}.{verb}", f"crm.{old}.{verb}"): _OLDER
        for new, old in (
            ("measure", "measure"),
            ("product", "product"),
            ("productProperty", "product.property"),
            ("section", "productsection"),
            ("vat", "vat"),
        )
        for verb in ("add", "update", "delete")
    },
    **{
        (f"crm.category.{verb}", f"crm.dealcategory.{verb}"): "the older method for the funnels of deals"
        for verb in ("add", "update", "delete")
    },
    ("crm.automation.trigger", "crm.automation.trigger.execute"): "two names of one method",
}
"""Methods that do the same, in alphabetical order, with the reason."""
_UNMADE = {
    "ru": r"Удалить|Убрать|Отвязать|Отписаться|Исключить|Снять|Открепить|Сбросить|Очистить|Отключить и удалить|Больше не показывать",
    "en": r"Delete|Remove|Unlink|Unsubscribe|Take from|Untick|Let go all|Unpin|Reset|Clear|Disconnect and delete|Stop showing|Move to the recycle bin|Mark as not",
}
"""How a heading begins whose act takes something away."""
_TAKES_AWAY = re.compile(
    r"(remove|unbind|unregister|kill|markdeleted|unpin|unpinall|clear|reset|unpay)$|delete(tree|fromcomment|byfilter|\.messages|_one|_many|_message)?$"
)
_OTHER_WORDS = {
    "im.user.status.idle.end": "clears a status",
    "task.checklistitem.renew": "takes the tick off",
    "tasks.template.checklist.renew": "takes the tick off",
}
"""Methods that take something away although their names do not say so."""
_MAKES = {"ru": r"Создать|Добавить|Завести", "en": r"Create|Add"}
_RECORD = {
    "ru": r"(Создать|Изменить|Удалить) (сделку|лид|контакт|компанию|элемент|дело|задачу)",
    "en": r"(Create|Change|Delete) the (deal|lead|contact|company|item|activity|task)",
}
"""A whole heading that says that a record is made, changed or deleted."""
_RECORD_METHODS = re.compile(
    r"(crm\.(deal|lead|contact|company|item|activity|activity\.todo)|tasks\.task)\.(add|update|delete)", re.IGNORECASE
)


@cache
def _writes() -> tuple[Method, ...]:
    """Every write of the catalogue and outside the portal, but for the batch, whose heading is the count of its commands."""
    outside = (find_effect_kind(kind, name) for kind, _, name in (said.partition(".") for said in list_policy_names()))
    rows = (*load_catalogue(CATALOGUE, []), *(row for row in outside if row is not None))
    return tuple(row for row in rows if not row.reads_only and row.name != "batch")


def _describe(row: Method, locale: Locale) -> str:
    return Translator(locale).describe_call(row.name, find_verb(row), row.entity.partition(":")[0])


@pytest.mark.parametrize("locale", LOCALES)
def test_every_write_of_the_catalogue_has_words(locale: Locale) -> None:
    """No card of a catalogue method names its act by the raw method."""
    assert len(_writes()) > 500
    assert [row.name for row in _writes() if not _describe(row, locale)] == []


@pytest.mark.parametrize("locale", LOCALES)
def test_two_different_acts_never_share_a_heading(locale: Locale) -> None:
    """Only methods that do the same, listed with the reason, may be told alike."""
    told: dict[str, list[str]] = defaultdict(list)
    for row in _writes():
        told[_describe(row, locale).casefold()].append(row.name)
    assert {tuple(sorted(names)) for names in told.values() if len(names) > 1} == set(_ALIASES)


@pytest.mark.parametrize("locale", LOCALES)
def test_a_heading_takes_away_exactly_when_its_method_does(locale: Locale) -> None:
    """A deletion or an unlinking is told as one, and nothing else is."""
    wrong = {
        row.name: _describe(row, locale)
        for row in _writes()
        if bool(re.match(_UNMADE[locale], _describe(row, locale)))
        != (bool(_TAKES_AWAY.search(row.name.lower())) or row.name in _OTHER_WORDS)
    }
    assert wrong == {}


@pytest.mark.parametrize("locale", LOCALES)
def test_only_the_methods_of_a_record_are_told_as_making_changing_or_deleting_it(locale: Locale) -> None:
    """Unlinking a contact, replacing rows or setting the layout of cards never says that a deal is deleted or changed."""
    wrong = {
        row.name: _describe(row, locale)
        for row in _writes()
        if re.fullmatch(_RECORD[locale], _describe(row, locale)) and not _RECORD_METHODS.fullmatch(row.name)
    }
    assert wrong == {}


@pytest.mark.parametrize("locale", LOCALES)
def test_only_methods_that_add_are_told_as_making_something(locale: Locale) -> None:
    """An update or a deletion never begins with «Создать»."""
    wrong = {
        row.name: _describe(row, locale)
        for row in _writes()
        if re.match(_MAKES[locale], _describe(row, locale))
        and re.search(r"\.(update|delete|set|get|list|remove|unbind)$", row.name.lower())
    }
    assert wrong == {}


def test_words_belong_to_methods_of_the_catalogue() -> None:
    """Words of a method that is gone, or misspelt, are seen."""
    unnamed = ("schedule.", "knowledge.")  # their methods are spelled without the kind
    outside = (name for name in list_policy_names() if not name.startswith(unnamed))  # reads of other kinds have words too
    codes = {
        build_act_code(name)
        for name in (*(row.name for row in _writes()), *outside, "method.help", "history.of", "day", "ask_documents", "report")
    }
    assert {code for code in list_message_ids("ru") if code.startswith("act-")} <= codes


@pytest.mark.parametrize(
    ("method", "entity", "said"),
    [
        ("crm.deal.contact.delete", "deal", "Отвязать контакт от сделки «Ромашка»"),
        ("crm.deal.contact.add", "deal", "Привязать контакт к сделке «Ромашка»"),
        ("crm.deal.contact.items.delete", "deal", "Отвязать все контакты от сделки «Ромашка»"),
        ("crm.item.add", "deal", "Создать сделку «Ромашка»"),
        ("crm.item.update", "item", "Изменить элемент «Ромашка»"),
        ("tasks.task.complete", "task", "Завершить задачу «Ромашка»"),
        ("crm.item.payment.pay", "payment", "Отметить полученной оплату «Ромашка»"),
        ("acme.deal.shred", "deal", "вызов acme.deal.shred «Ромашка»"),
    ],
)
def test_a_card_says_the_act_of_its_method(method: str, entity: str, said: str) -> None:
    """The words of the method come first, then those of verb and kind, and a method of a company's own policy is named itself."""
    row = next((row for row in _writes() if row.name == method), None) or Method(
        name=method, classes=("W",), verb="action", entity=entity, idempotent=True
    )
    part = PreviewPart(verb=find_verb(row), entity=entity, title="Ромашка")
    assert to_plain_text(render_heading(part, method, Translator("ru"))) == said


def test_an_action_of_a_company_never_borrows_the_words_of_a_record() -> None:
    """A method that only a policy file knows is not told as a deletion of the deal because its name ends so."""
    row = Method(name="acme.deal.badge.delete", classes=("W",), verb="action", entity="deal", idempotent=True)
    assert Translator("ru").describe_call(row.name, find_verb(row), "deal") == ""


@pytest.mark.parametrize(
    ("locale", "said"), [("ru", "отвязать контакт от сделки «Ромашка»"), ("en", "unlink a contact from the deal “Ромашка”")]
)
def test_a_sentence_names_the_act_too(locale: Locale, said: str) -> None:
    """A doubtful outcome is told as the unlinking that it was, not as the deletion of a deal."""
    named = {"method": "crm.deal.contact.delete", "verb": "delete", "entity": "deal", "parts": "title", "title": "Ромашка"}
    assert said in Translator(locale).translate("outcome-unknown", **named)


@pytest.mark.parametrize("verb", ["action", "delete"])
def test_the_progress_of_a_turn_names_the_act(verb: str) -> None:
    """While contacts are being unlinked nobody reads that a deal is being deleted."""
    step = Step(state="running", verb=verb, entity="deal", title="Ромашка", method="crm.deal.contact.items.delete")
    assert to_plain_text(render_step(step, Translator("ru"))).endswith("Отвязать все контакты от сделки «Ромашка»")


def test_the_progress_of_a_batch_counts_no_records() -> None:
    """One call changes several records."""
    step = Step(state="running", verb="batch", entity="", title="", method="batch")
    assert "меняю сразу несколько записей" in to_plain_text(render_step(step, Translator("ru")))


def test_the_history_of_a_record_names_the_act() -> None:
    """The history of a deal tells an old unlinking as one."""
    entry = {"what": "call", "verb": "delete", "entity": "deal", "method": "crm.deal.contact.delete", "status": "succeeded"}
    told = to_plain_text(render_history({"entity": "deal", "number": 481, "total": 1, "entries": [entry]}, Translator("ru")))
    assert "Отвязать контакт от сделки" in told
    assert "Удалить сделку" not in told
