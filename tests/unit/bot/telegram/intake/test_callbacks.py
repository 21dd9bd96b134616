"""Callback data: short, read back as made, and nothing else is read."""

import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.telegram.intake.callbacks import (
    ActionClick,
    ButtonClick,
    CardClick,
    CheckClick,
    ChoiceClick,
    DetailsClick,
    ExampleClick,
    StopClick,
    pack,
    unpack,
)
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from state.clock import generate_id

ID = generate_id()  # longer than the ids we use
NONCE = secrets.token_hex(8)
RUN = "c5077ee6-6373-4047-935a-ff65ffb6fa96"
PRESSES: list[ButtonClick] = [
    CardClick(confirmation_id=ID, nonce=NONCE, approve=True),
    CardClick(confirmation_id=secrets.token_hex(5), nonce=calculate_second_nonce(NONCE), approve=False),
    CardClick(
        confirmation_id=secrets.token_hex(5), nonce=calculate_second_nonce(NONCE), approve=True, home="tg:-1001234567890123:2147483647"
    ),
    CardClick(confirmation_id=secrets.token_hex(5), nonce=calculate_second_nonce(NONCE), approve=False, home="tg:1007"),
    CardClick(confirmation_id=secrets.token_hex(5), nonce=calculate_second_nonce(NONCE), approve=True, home=f"run:{RUN}"),
    ActionClick(words=("why", secrets.token_hex(5), secrets.token_hex(4), f"r{RUN}")),
    ActionClick(words=("run", RUN, "details", secrets.token_hex(5))),
    ActionClick(words=("undo", "f" * 32)),
    ActionClick(words=("field", secrets.token_hex(5), "12")),
    ChoiceClick(question_id=ID, option=999),
    ExampleClick(code="example-" + "a" * 40),
    CheckClick(confirmation_id=ID),
    DetailsClick(confirmation_id=ID),
    StopClick(),
]


@pytest.mark.parametrize("press", PRESSES, ids=lambda press: type(press).__name__)
def test_a_press_is_read_back_as_made_within_telegrams_64_bytes(press: ButtonClick) -> None:
    data = pack(press)
    assert 0 < len(data.encode()) <= 64
    assert unpack(data) == press


@pytest.mark.parametrize(
    "data",
    [
        "", ":", "c1", "c1::::", "c1:::y", "c1:a:b:Y", "c1:a:b:yes", "c1:a:b:y:z", "c1:a:b:y\n", "c2:a:b:y", "C1:a:b:y", " c1:a:b:y", "c1:\x00:n:y", "c1:a:\ud800:y",
        "c1:а:б:y", "c1:a/../b:n:y", "n1:q:", "n1:q:-1", "n1:q:1.5", "n1:q:²", "n1:q:٣", "n1::1", "n1:q:" + "9" * 50, "n1:q:1e3", "e1:", "e1:welcome",
        "e1:gate-mode", "a1", "a1:", "a1::x", "a1:a b", "a1:" + "a" * 41, "a1:" + ":".join("aaaa" for _ in range(13)), "a1:слово", "a1:x\n",
        "c2:0123456789:01234567:y:", "c2:0123456789:01234567:y:tg", "c2:0123456789:01234567:y:-", "c2:0123456789:01234567:y:1.", "c2:0123456789:01234567:y:1:2",
        "c2:0123456789:01234567:y:r", "c2:0123456789:01234567:y:r1007", "c2:0123456789:01234567:y:r" + "a" * 36, "c2:0123456789:01234567:y:" + RUN,
        "c2:0123456789:01234567:y:" + "1" * 17, "c2:012345678:01234567:y:1", "c2:0123456789:01234567:Y:1", "e1:example-", "s1:", "s1:t", "u1:", "u1:a:b", "d1:" + "a" * 60, '{"approve":true}', "y" * 10_000,
    ],
)  # fmt: skip
def test_data_we_never_made_is_no_press(data: str) -> None:
    assert unpack(data) is None


@given(st.text(max_size=70) | st.from_regex(r"[acneuds][12](:[0-9a-f\x00\u0660-\u0669]{0,12}){0,4}"))
def test_whatever_is_read_can_be_made_again(data: str) -> None:
    press = unpack(data)
    assert press is None or unpack(pack(press)) == press


@given(st.lists(st.text(max_size=45) | st.from_regex(r"[0-9A-Za-z_.=-]{1,40}", fullmatch=True), max_size=8))
def test_the_words_of_a_feature_go_through_a_button_whole_or_not_at_all(words: list[str]) -> None:
    press = ActionClick(words=tuple(words))
    try:
        data = pack(press)
    except ValueError:
        return
    assert len(data.encode()) <= 64
    assert unpack(data) == press


@pytest.mark.parametrize("home", ["cli:anna", "tg:", "tg:anna", "tg:1:toast", "tg:1:2:3"])
def test_a_card_that_lives_outside_telegram_gets_no_button_that_would_lead_elsewhere(home: str) -> None:
    with pytest.raises(ValueError, match="no button"):
        pack(CardClick(confirmation_id=secrets.token_hex(5), nonce=calculate_second_nonce(NONCE), approve=True, home=home))
