"""Markdown of models as people read it: drawn, never altering a value, and with nothing to tap but the listed addresses."""

import re
import time
from datetime import UTC, datetime
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.i18n.translate import Translator
from bot.rendering import markdown
from bot.rendering.markdown import render_markdown
from bot.rendering.spans import Span, Spans, to_plain_text
from bot.telegram.view.entities import LIMIT, render_entities
from bot.telegram.view.message_builder import build_message
from orchestrator.domain.card_view import count_units
from sandbox.telegram.text import formatted_text
from state.journal.store import OutboxRow
from state.stored import JsonObject

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
PORTAL = "https://portal.example/crm/deal/details/481/"
TABLE = "| Сделка | Сумма |\n|---|---:|\n| Ромашка | 100 |\n| Вектор | **2** |"
WIDE = "| Сделка с длинным названием | Сумма с НДС | Ответственный |\n|---|---|---|\n| Ромашка | 100 | Анна |"


def _send(text: str, links: tuple[str, ...] = (), kind: str = "reply") -> tuple[str, list[JsonObject]]:
    """Return the text and the entities as Telegram shows them, those included that it finds by itself."""
    body: JsonObject = {"parts": [{"kind": "text", "text": text}], "links": list(links)}
    row = OutboxRow(id="o1", session="tg:1007", channel="tg", kind=kind, body=body, key="", created_at=NOW, due_at=NOW)
    said, marks = build_message(row, Translator("ru")).pieces[0]
    return formatted_text(said, "", [mark.model_dump(exclude_none=True) for mark in marks])


def _cut(text: str, entity: JsonObject) -> str:
    return text.encode("utf-16-le")[entity["offset"] * 2 : (entity["offset"] + entity["length"]) * 2].decode("utf-16-le")


def _styled(text: str) -> list[tuple[str, str]]:
    said, entities = _send(text)
    return [(entity["type"], _cut(said, entity)) for entity in entities]


@pytest.mark.parametrize(
    ("text", "styled"),
    [
        ("**Ромашка** выиграна", [("bold", "Ромашка")]),
        ("*важно* и _тоже_", [("italic", "важно"), ("italic", "тоже")]),
        ("***оба***", [("italic", "оба"), ("bold", "оба")]),
        ("код `C1:NEW` и ~~старая~~", [("code", "C1:NEW"), ("strikethrough", "старая")]),
        ("# Итог\nтекст", [("bold", "Итог")]),
        ("```sql\nselect 1\n```", [("pre", "select 1")]),
        ("> раз\n> **два**\n> три", [("expandable_blockquote", "раз\nдва\nтри"), ("bold", "два")]),
        ("- **а**\n- б", [("bold", "а")]),
        (TABLE, [("pre", "Сделка   Сумма\nРомашка  100\nВектор   2")]),
        (WIDE, [("bold", "Ромашка")]),
        ("**сумма `1` тут**", [("bold", "сумма "), ("code", "1"), ("bold", " тут")]),
    ],
)
def test_markdown_becomes_entities(text: str, styled: list[tuple[str, str]]) -> None:
    """Each kind of markup is drawn as the chat draws it, and its signs are gone."""
    assert sorted(_styled(text)) == sorted(styled)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Сделки:\n- а\n- б\n  - в\n\nВсё", "Сделки:\n• а\n• б\n   • в\n\nВсё"),
        ("1. а\n2. б", "1. а\n2. б"),
        ("481. Ромашка\n500. Вектор", "481. Ромашка\n500. Вектор"),
        ("1) а\n7) б", "1) а\n7) б"),
        (WIDE, "• Ромашка — Сумма с НДС: 100, Ответственный: Анна"),
        ("| а | б |\n|---|---|\n| 1 | 2 | 3 |", "| а | б |\n|---|---|\n| 1 | 2 | 3 |"),
        ("**Итог:** 5\nдва", "Итог: 5\nдва"),
        (f"[Ромашка]({PORTAL}), <{PORTAL}>", f"Ромашка ({PORTAL}), {PORTAL}"),
        ("а\n\n---\n\nб", "а\n\n———\n\nб"),
    ],
)
def test_the_same_words_are_plain_text_elsewhere(text: str, plain: str) -> None:
    """The HTTP API and the terminal get the words without signs of markup."""
    assert to_plain_text(render_markdown(text, locale="ru", links=(PORTAL,))) == plain


@pytest.mark.parametrize(
    "text",
    [
        "5*3*2 = 30",
        "2**3**2",
        "x*y и z*w",
        "файл_с_подчёркиванием_v2",
        "> 5 млн ₽: три сделки",
        "> -3",
        "+ 5000 ₽",
        "Итого\n---\nещё".replace("---", "— —"),
        "token=***&key=***",
        "***",
        "1 000.50 ₽, 22.11.2026, т.е. 3/4",
        "#481 и №5",
        "<b>x</b> & y",
        "цена ~5 и ~6",
        "ООО «Ромашка» [важно]",
        "``` Сделка 481 ```".replace("`", "'"),
    ],
)
def test_values_that_look_like_markup_stay_as_written(text: str) -> None:
    """A star between figures, a comparison or a number before a point is no markup."""
    assert to_plain_text(render_markdown(text, locale="ru")) == text


@pytest.mark.parametrize(
    "text", [">" * 300 + " Ромашка", "- " * 300 + "Ромашка", "1. " * 300 + "Ромашка", "[" * 500 + "Ромашка", "*" * 999]
)
def test_nothing_is_lost_in_what_nests_too_deep(text: str) -> None:
    """The parser leaves out what is nested beyond its limit, so such a text stays as it is."""
    assert text.rsplit(maxsplit=1)[-1].lstrip(">[*")[:7] in to_plain_text(render_markdown(text, locale="ru"))


def test_the_words_above_a_fence_and_in_it_are_kept() -> None:
    """What stands behind the opening of a fence may be no language but words."""
    assert to_plain_text(render_markdown("``` Сделка 481\n150 000 ₽\n```", locale="ru")) == "Сделка 481\n150 000 ₽"


HOSTILE = [
    "evil.com",
    "**evil**.com",
    "evil.`com` и `evil`.com",
    "[жми](https://evil.example/?d=1)",
    "[жми](evil.example)",
    "[жми](//evil.example/x)",
    "[жми](tel:+79011234567)",
    "[жми](mailto:a@evil.example)",
    "[жми](tg://resolve?domain=evil)",
    "![жми](https://evil.example/i.png)",
    "<https://evil.example/x>",
    "&#104;ttps://evil.example/x",
    "ht**tp**s://evil.example/x",
    r"https:\/\/evil.example/x",
    "@evil_bot и **@**evil_bot, @evil.com",
    "/unfreeze, **/**unfreeze",
    "a@evil.example и a**@**evil.example",
    "+7 901 123-45-67, 8 (901) 123-45-67, +7 **901** 123-45-67, 79011234567",
    "#срочно **#**срочно",
    "> /start @evil_bot evil.com",
    "| a | b |\n|---|---|\n| evil.com | @evil_bot |",
    "# evil.com /start",
    "[a]: https://evil.example/x\n\n[a]",
    f"{PORTAL}'evil",
    f"[жми]({PORTAL}?d=1)",
    "t.me/evil",
    "192.168.0.1 и 10.0.0.1:8080",
    "1.**2**.3.4",
    "1.2.3.4/pay?card=1",
    "xn--e1afmkfd.xn--p1ai",
    "xn--e1afmkfd.xn--p1ai/pay?d=1",
    "$AAPL, **$**TON и $1INCH",
    "tg://resolve?domain=evil",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_the_models_words_can_be_tapped(text: str) -> None:
    """Markup neither hides an address nor puts one together; the only links are those listed for the reply."""
    said, entities = _send(text, links=(PORTAL,))
    assert {entity["type"] for entity in entities} <= {
        "bold",
        "italic",
        "code",
        "pre",
        "expandable_blockquote",
        "strikethrough",
        "text_link",
    }
    assert [entity["url"] for entity in entities if entity["type"] == "text_link"] in ([], [PORTAL])
    assert "evil.example" not in said or "evil.example" in "".join(_cut(said, entity) for entity in entities if entity["type"] == "code")


def test_a_contact_is_copied_as_it_is() -> None:
    """A phone and an e-mail address in an answer are code: one tap copies them, and no hidden sign is in them."""
    assert _styled("Анна: +7 901 123-45-67, anna@romashka.ru") == [("code", "+7 901 123-45-67"), ("code", "anna@romashka.ru")]


def test_a_listed_address_is_a_link_to_exactly_itself() -> None:
    """With a label, in angle brackets, or in the middle of a sentence."""
    said, entities = _send(f"[Ромашка]({PORTAL}) и {PORTAL}.", links=(PORTAL,))
    links = [(entity["url"], _cut(said, entity)) for entity in entities if entity["type"] == "text_link"]
    assert links == [(PORTAL, "Ромашка"), (PORTAL, PORTAL)]


def test_a_reply_stored_before_links_were_listed_keeps_the_ones_it_has() -> None:
    """Its text was checked when it was written."""
    assert Span(PORTAL, url=PORTAL, is_foreign=True) in render_markdown(f"см. {PORTAL}", locale="ru", links=None)


WORDS = st.sampled_from([
    "Ромашка", "150 000 ₽", "evil.com", "@evil_bot", "/start", "https://evil.example/x", PORTAL, "+7 901 123-45-67", "😀", "$TON", " 10.0.0.1 ",
])  # fmt: skip
MARKS = st.sampled_from([
    "**", "*", "_", "__", "`", "```", "~~", "[", "]", "(", ")", "](", "<", ">", "\n", "\n\n", "- ", "1. ", "# ", "|", "|---|", " ", "\\", "&#46;", "!",
])  # fmt: skip


@pytest.mark.long
@example("Ромашка&#46;Ромашка/start")
@given(st.lists(WORDS | MARKS, max_size=24).map("".join))
def test_no_markup_makes_something_to_tap_or_an_entity_that_telegram_refuses(text: str) -> None:
    """Whatever a model writes: the message is accepted, and its links are those of the reply."""
    shown: Spans = render_markdown(text, locale="ru", links=(PORTAL,))
    if not to_plain_text(shown).strip():
        return
    said, entities = _send(text, links=(PORTAL,))
    assert not {"url", "mention", "bot_command", "email", "phone_number", "hashtag", "cashtag"} & {entity["type"] for entity in entities}
    assert {entity["url"] for entity in entities if entity["type"] == "text_link"} <= {PORTAL}
    assert count_units(said) <= LIMIT
    code = [_cut(said, entity) for entity in entities if entity["type"] in {"code", "pre", "text_link"}]
    assert said.count("evil.com") == sum(part.count("evil.com") for part in code)
    may_be_removed = re.search(r"\]\(|://|(evil\.com|&#46;)\S*/", text)  # a point and a path make an address of any word
    assert may_be_removed or text.count("Ромашка") == said.count("Ромашка")


@pytest.mark.parametrize("piece", ["[", "a.b.", "_a", "ааа.", "|a", "+7 ", "[x](https://", "x@", "- "])
def test_a_long_text_of_one_sort_is_drawn_at_once(piece: str) -> None:
    """Nobody's answer waits because a customer wrote twenty thousand brackets."""
    begun = time.process_time()
    render_entities(render_markdown(piece * (20_000 // len(piece)), locale="ru"))
    assert time.process_time() - begun < 3


_PLAIN_PIECES = (
    *(
        "слово",
        "150 000 ₽",
        "a.ru",
        "https://a.ru/x",
        "@u",
        "/cmd",
        "😀",
        "\n",
        "\n\n",
        "\n\n\n",
        " ",
        "\u00a0",
        "\u2028",
        "\x85",
        "\ufeff",
    ),
    *(
        "-",
        "—",
        "- x",
        "1. y",
        "2)",
        "5",
        "#",
        "=",
        "+",
        "(",
        ")",
        "!",
        ":",
        "---",
        "*",
        "*x*",
        "`",
        "&amp;",
        "<br>",
        "\\",
        "|",
        "\t",
        "\r",
    ),
)


@given(st.lists(st.sampled_from(_PLAIN_PIECES), max_size=10).map("".join))
def test_a_text_without_markup_reads_as_the_parser_reads_it(text: str) -> None:
    """The parser is left out for it; what has markup, and all that only looks like it, takes the same way as before."""
    links = ("https://a.ru/x",)
    shown = render_markdown(text, locale="ru", links=links)
    with patch.object(markdown, "_MAY_BE_MARKUP", re.compile("")):
        assert shown == render_markdown(text, locale="ru", links=links)
