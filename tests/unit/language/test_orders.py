"""Orders are known by their place in the message; the words only let additions run freely, and not knowing one costs a press."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.language.orders import count_orders, is_plain, names_owner, names_stage, speaks_of_change
from orchestrator.language.text import split_foreign_text

CORPUS = Path(__file__).parents[2] / "corpus"


def _load(name: str) -> list[tuple[str, str]]:
    groups: list[dict[str, Any]] = yaml.safe_load((CORPUS / name).read_text(encoding="utf-8"))
    return [(group["group"], text) for group in groups for text in group["texts"]]


def _may_add(text: str) -> bool:
    """Whether the message lets an addition run without a card, as far as the message tells."""
    own, foreign = split_foreign_text(text)
    return not foreign and is_plain(own) and count_orders(own) > 0


@pytest.mark.parametrize(("group", "text"), _load("ordered_wordings.yaml"))
def test_an_ordered_addition_is_known_in_every_wording(group: str, text: str) -> None:
    """The wordings were written before the code."""
    assert _may_add(text), group


@pytest.mark.parametrize(("group", "text"), _load("unordered_wordings.yaml"))
def test_nothing_runs_after_a_message_that_orders_nothing(group: str, text: str) -> None:
    """Questions, greetings, prohibitions, pastes, take-backs and look-alikes, written before the code."""
    assert not _may_add(text), group


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("запиши в 410: звонил", 1),
        ("запиши в 410: звонил, и напомни завтра про счёт", 2),
        ("Создай лид Олег. Поставь ему задачу на пятницу.", 2),
        ("поставь задачу на вторник, потом добавь в кедр комментарий и ещё напомни вечером", 3),
        ("Поставь задачи на завтра:\n- забрать акт\n- позвонить Гусевой\n- отправить прайс", 3),
        ("поставь задачу Вере и Борису", 1),
        ("запиши: звонил, поставь лайк, добавь бонус", 1),
        ("Создай задачу Вере: добавь товар, поставь стадию и назначь звонок", 1),
        ("add a note to 410: call them, add lamps, set a date", 1),
        ("Создай лид: Олег, кухня. Поставь ему задачу на пятницу.", 2),
        ("запиши в 412 и 413: новый прайс", 2),
        ("номера накладных 1187 и 1188 впиши", 1),
        ("предоплату 50000 поставь", 1),
        ("два насоса и один шкаф добавь", 1),
        ("дату закрытия 1 декабря поставь", 1),
        ("скидку просят добавить", 0),
        ("предоплату 50000 поставили?", 0),
        ("занеси в сделки 98 и 101 что новый прайс", 2),
        ("запиши в 481, 15 марта звонил", 1),
        ("запиши в 48, 15 марта звонил", 1),
        ("запиши в 481 и 2 раза позвонил ему", 1),
        ("запиши в 481, 300 тысяч просят", 1),
        ("запиши в 410, 921 000 33 44 его номер", 1),
        ("запиши в 410: 15, 16 и 17 марта склад закрыт", 1),
        ("Запиши в 481 итоги встречи:\n- скидка\n- доставка\n- аванс", 1),
        ("Запиши задачи:\n- скидка\n- доставка", 2),
        ("Поставь задачи:" + "\n- позвонить" * 60, 20),
        ("созвонился с Еленой, минут 15, просит отсрочку 14 дней — занеси звонок", 1),
        ("встретились с Верой, просит скидку, занеси встречу в 410", 1),
        ("Клиент из Казани просит — запиши меня на встречу", 0),
        ("и толкни меня в четверг с утра, чтоб я им набрал", 1),
        ("пни нас завтра в 10 насчёт договора", 1),
        ("толкни сделку 410 дальше", 0),
        ("что по сделке 410?", 0),
        ("", 0),
        ("запиши", 1),
    ],
)
def test_orders_are_counted(text: str, orders: int) -> None:
    """As many additions as this may run without a card."""
    assert count_orders(text) == orders


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("запиши в 410: звонил", True),
        ("а" * 300, True),
        ("а" * 301, False),
        (f"запиши в 410: {'а' * 1400}", True),
        (f"запиши в 410: {'а' * 1500}", False),
        ("Запиши в 410:\nзвонил\nждут счёт", True),
        ("Запиши в 410\nзвонил", False),
        ("Кедр:\nзапиши", False),
    ],
)
def test_a_message_is_plain_by_its_length_and_lines(text: str, plain: bool) -> None:  # noqa: FBT001
    """A longer text may hold anybody's words, whoever sends it."""
    assert is_plain(text) is plain


HOSTILE = [
    "да, да, " * 500,
    "- - - " * 700,
    ". " * 2000,
    "! " * 2000,
    "1. " * 1300,
    "«" * 4000,
    '"' * 4000,
    "в сделку " * 450,
    "и и и " * 700,
    ", и запиши" * 360,
    "не на " * 660,
    "напомни, " * 440,
    "нужно " * 660,
    "э" * 4000,
    " " * 4000,
    "\n" * 4000,
    "задача на " * 400,
    "give a b c d " * 300,
    "плиииз " * 500,
    "стоп, х, " * 400,
    "запиши: " + "это " * 1000,
    "запиши в 410:\n" + "не не " * 700,
    "«„\"'" * 1000,
    "сделка 410: " * 330,
    "коммент в " * 400,
    "новый лид " + "а " * 2000,
    "отправь кп и поставь " * 190,
    "дозвонился — " * 300,
    "напомни про вере " * 230,
    "а" * 4000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_messages_are_read_in_time_that_grows_with_their_length(text: str) -> None:
    """4,000 letters cost at most some milliseconds, and no more than the beginning of them that is looked at."""
    begun = time.perf_counter()
    for _ in range(3):
        count_orders(text), is_plain(text), speaks_of_change(text)
    assert (time.perf_counter() - begun) / 3 < 0.1  # ten times what it takes: a machine under load must not fail it


def test_a_new_record_may_be_named_with_its_owner_and_stage() -> None:
    """These are what the call has to carry."""
    assert names_owner("создай лид Олег, ответственный Вера")
    assert names_owner("add Kerry as a lead and assign them to Raj")
    assert not names_owner("создай лид Олег, кухня")
    assert names_stage("заведи сделку в воронке «Опт»")
    assert not names_stage("заведи сделку Кедр")
