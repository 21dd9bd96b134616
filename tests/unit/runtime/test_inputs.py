"""The bodies of inputs: the kind and the stored JSON of each, which other versions and processes read."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pydantic import ValidationError

from orchestrator.domain import inputs
from orchestrator.domain.inputs import Input, parse_input
from tests.unit.runs.runs_kit import a_run_world
from tests.unit.spine_kit import message, reply

CARD = {"confirmation_id": "c", "nonce": "n"}
PLACE = {"at": 1, "message_id": 2, "reply_to": 3, "album": "4"}
STORED: list[tuple[type[Input], str, dict[str, Any]]] = [
    (inputs.TextMessage, "message", {"text": "a", "quoted": "", "origin": "typed", **PLACE}),
    (inputs.TextMessage, "message", {"text": "a", "origin": "button"}),
    (inputs.ChoiceMade, "message", {"answers": "q", "option": 0, "origin": "choice"}),
    (inputs.VoiceMessage, "voice", {"file_id": "f", "seconds": 1, "size": 2, "forwarded": False, "caption": "", **PLACE}),
    (inputs.EditedMessage, "edited", {"text": "a", "at": 1, "message_id": 2}),
    (inputs.CardDecision, "decision", {**CARD, "approve": False, "via": "typed"}),
    (inputs.CardDecision, "decision", {**CARD, "approve": True, "via": "button", "callback_id": "7"}),
    (inputs.Command, "command", {"name": "help", "args": ""}),
    (inputs.Command, "command", {"name": "check", "confirmation_id": "c"}),
    (inputs.FeatureClick, "press", {"words": ["undo", "e"], "callback_id": "7", "message_id": 5}),
    (inputs.ReminderClick, "reminder", {"reminder": "r", "action": "done", "place": "m", "callback_id": "7"}),
    (inputs.TimerDue, "timer", {"timer": "t", "kind": "k"}),
    (inputs.CallTimerDue, "timer", {"timer": "t", "kind": "k", "effect_id": "e"}),
    (inputs.CardTimerDue, "timer", {"timer": "t", "kind": "k", "confirmation_id": "c", "left": ["tg:1"]}),
    (inputs.FieldValue, "edit_value", {"confirmation_id": "c", "ask": 1, "text": "a", "message_id": 2}),
    (inputs.DenialReason, "reason", {"text": "a", "message_id": 2}),
    (inputs.DenialReason, "reason", {**CARD, "home": "tg:1", "text": "a", "message_id": 2}),
    (inputs.PreferenceChange, "preference", {"preference": "locale", "value": "en"}),
    (inputs.JoinRequest, "join", {"token_id": "t", "unlock": "u", "locale": "ru"}),
    (inputs.AccessRequest, "knock", {}),
    (inputs.PeopleClick, "people_press", {"press": ["who", "1"], "chat": "tg:1"}),
    (inputs.AccessFileChange, "access_file", {"left": ["tg:1"], "count": 2, "faults": ""}),
    (inputs.AccessEnd, "access_lost", {"person": "tg:1", "why": "portal"}),
    (inputs.FreezeNews, "freeze_news", {"what": "frozen", "at": "", "via": "tg", "reason": ""}),
    (
        inputs.DefinitionNews,
        "definition_news",
        {"definition_kind": "steps", "key": "welcome", "version": 1, "title": "", "at": "", "note": ""},
    ),
    (inputs.PolicyNews, "policy_news", {"digest": "d", "faults": ["f"], "restart": False}),
]


@pytest.mark.parametrize(("kind_of", "kind", "body"), STORED)
def test_a_body_is_stored_as_it_was_read(kind_of: type[Input], kind: str, body: dict[str, Any]) -> None:
    """Fields that were not given are not stored, and fields of another version are passed over."""
    said = kind_of.model_validate(body)
    assert (said.KIND, said.to_json()) == (kind, body)
    assert kind_of.model_validate({**body, "of_tomorrow": 1}) == said


def test_an_error_quotes_no_words_of_people() -> None:
    with pytest.raises(ValidationError) as failed:
        inputs.CardDecision.model_validate({**CARD, "approve": "нет", "via": "api", "reason": "слова"})
    assert "слова" not in str(failed.value)
    assert "нет" not in str(failed.value)


def test_a_row_of_another_kind_is_no_input_of_a_person() -> None:
    assert isinstance(parse_input(message("а")), inputs.TextMessage)
    assert parse_input(replace(message("а"), kind="retold")) is None


@pytest.mark.parametrize("quoted", ["", "чужие слова"])
async def test_a_typed_message_is_parsed_once(tmp_path: Path, quoted: str) -> None:
    """Merging, the takers of messages and the turn use what was parsed where the row was taken up."""
    parse, parsed = inputs.TextMessage.model_validate, []

    def count(body: Any) -> inputs.TextMessage:
        parsed.append(body)
        return parse(body)

    request = message("добрый день", quoted=quoted)
    async with a_run_world(tmp_path, {}) as world:
        world.model.will(reply(text="Здравствуйте."))
        with patch.object(inputs.TextMessage, "model_validate", count):
            await world.work(request)
        assert [event.type for event in world.events("MessageReceived", "TurnFinished")] == ["MessageReceived", "TurnFinished"]
    assert parsed == [request.body]
