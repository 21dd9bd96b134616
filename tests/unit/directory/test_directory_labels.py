"""Labels show what a record is, and no record can disguise its label."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.directory.answers import RecordRow
from orchestrator.directory.labels import (
    build_card_url,
    format_company_label,
    format_contact_label,
    format_deal_label,
    format_lead_label,
    format_user_label,
    parse_amount,
)
from orchestrator.language.text import to_visible_line

DEAL = {"ID": "481", "TITLE": "Ромашка", "OPPORTUNITY": "1200000.00", "CURRENCY_ID": "RUB"}


def row(fields: dict[str, object]) -> RecordRow:
    """The row as the labels read it."""
    return RecordRow.model_validate(fields)


def spaced(text: str) -> str:
    """The label with plain spaces, for comparing."""
    return text.replace("\u00a0", " ")


def test_each_record_has_its_line() -> None:
    """A label names what is there and leaves out what is not, in both spellings of the portal."""
    person = {"ID": 43, "NAME": "Анна", "LAST_NAME": "Ковалёва", "POST": "директор", "WORK_POSITION": "менеджер"}

    assert spaced(format_deal_label(row(DEAL), stage_name="Договор")) == "Ромашка · 1,2 млн ₽ · Договор · №481"
    assert spaced(format_deal_label(row(DEAL), stage_name="Contract", locale="en")) == "Ромашка · ₽1.2M · Contract · No. 481"
    assert format_deal_label(row({"id": 5, "title": " ", "opportunity": None}), stage_name=None) == "без названия · №5"
    assert format_deal_label(row({"id": 5}), stage_name=None, locale="en") == "untitled · No. 5"
    assert (
        spaced(format_deal_label(row({"id": 5, "title": "A", "opportunity": 2.5, "currencyId": "USD"}), stage_name=None))
        == "A · 2,50 $ · №5"
    )
    assert format_contact_label(row(person), company_name="ООО Ромашка") == "Анна Ковалёва · ООО Ромашка · директор · №43"
    assert format_contact_label(row({"id": 1, "lastName": "Орлов"})) == "Орлов · №1"
    assert format_user_label(row(person)) == "Анна Ковалёва · менеджер · №43"
    assert format_company_label(row({"ID": 3, "TITLE": "ООО Ромашка"})) == "ООО Ромашка · №3"
    assert format_lead_label(row({"ID": 12, "TITLE": "Заявка", "NAME": "Иван"}), status_name="Новый") == "Заявка · Иван · Новый · №12"


def test_a_long_title_is_cut_and_the_rest_stays() -> None:
    """What tells two records apart is never cut."""
    label = spaced(format_deal_label(row({**DEAL, "TITLE": "Поставка мебели и оборудования " * 5}), stage_name="Договор"))
    assert len(label) <= 64
    assert "…" in label
    assert label.endswith(" · 1,2 млн ₽ · Договор · №481")


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Ро\u200bмаш\u202eка\n\n два", "Ромашка два"),
        ("А · 5 ₽ · Выиграна", "А - 5 ₽ - Выиграна"),
        ("\ud800А\x00\u3164\u2800Б", "АБ"),
        ("а\u0301\u0302\u0303\u0304\u0305", "а\u0301\u0302"),
        ("\U000e0041\ufe0f", "без названия"),
    ],
)
def test_hidden_and_misleading_characters_do_not_reach_a_label(title: str, shown: str) -> None:
    """What a person reads is what the title says."""
    assert format_company_label(row({"TITLE": title})) == shown


@given(st.text(), st.integers(min_value=1, max_value=80))
@example("\ua674\x1b\U0001e94a", 2).via("two marks that change places once nothing stands between them")
def test_a_clean_text_is_one_visible_line_within_its_limit(text: str, limit: int) -> None:
    """Cleaning any text leaves one line of visible characters, and cleaning it again changes nothing."""
    shown = to_visible_line(text, limit=limit)
    assert len(shown) <= limit
    assert not [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}]
    assert shown == shown.strip()
    assert to_visible_line(shown) == shown


@given(st.text(max_size=200), st.text(max_size=60))
def test_no_title_or_stage_can_add_a_field_to_a_label(title: str, stage: str) -> None:
    """The separator and the number of a label are always ours."""
    label = format_deal_label(row({**DEAL, "TITLE": title}), stage_name=stage)
    assert label.endswith("№481")
    assert label.count(" · ") <= 3


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ("deal", "/crm/deal/details/481/"),
        ("lead", "/crm/lead/details/481/"),
        ("contact", "/crm/contact/details/481/"),
        ("company", "/crm/company/details/481/"),
        ("task", "/company/personal/user/6/tasks/task/view/481/"),
        ("user", "/company/personal/user/481/"),
    ],
)
def test_a_card_link_uses_the_host_only_and_never_a_webhook_code(entity: str, path: str) -> None:
    """Whatever address is given, the link shows its host and the path of the card."""
    assert build_card_url("https://u:p@romashka.bitrix24.ru/rest/1/secret/", entity, 481, user=6) == "https://romashka.bitrix24.ru" + path
    assert build_card_url("http://127.0.0.1:8080", entity, 481, user=6) == "http://127.0.0.1:8080" + path


@pytest.mark.parametrize(("portal", "number"), [("javascript:alert(1)", 1), ("https://", 1), ("x.bitrix24.ru", 1), ("https://x.ru", 0)])
def test_a_link_to_nowhere_is_refused(portal: str, number: int) -> None:
    """Other schemes, no host and no id make no link."""
    with pytest.raises(ValueError, match=r"portal address|positive id"):
        build_card_url(portal, "deal", number)


@pytest.mark.parametrize("value", [None, "", "abc", "NaN", "Infinity", "1e", []])
def test_what_is_no_amount_is_left_out(value: object) -> None:
    """A label never shows a sum that is none."""
    assert parse_amount(value) is None
    assert format_deal_label(row({"ID": 1, "TITLE": "А", "OPPORTUNITY": value}), stage_name=None) == "А · №1"
