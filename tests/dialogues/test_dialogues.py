"""Dialogues of a sales day go as their files say: no wrong record, one card for one wish, and the prompts are those that the answers are for."""

from pathlib import Path

import pytest

from tests.dialogues.checks import list_problems
from tests.dialogues.measure import measure
from tests.dialogues.player import Played, play_dialogue
from tests.dialogues.recording import find_difference, name_fixed, read_recorded, split_fixed, write_prompts
from tests.dialogues.scripts import Dialogue, load_dialogues

pytestmark = pytest.mark.slow
HINT = (
    "Look at it with `python -m tests.dialogues show {0}`; if the answers still fit the new prompts: `python -m tests.dialogues accept {0}`"
)
PEOPLE = sorted({one.person for one in load_dialogues().values()})


@pytest.mark.parametrize("name", load_dialogues())
async def test_a_dialogue_goes_as_it_was_written(name: str, tmp_path: Path) -> None:
    """Each prompt is the one that the answer was written for, and what comes of the answers is what the person wanted."""
    played = await play_dialogue(load_dialogues()[name], tmp_path)
    difference = find_difference(read_recorded(name), write_prompts(played.asked))
    assert not difference, f"dialogue {name}: another prompt than the recorded one at {difference}\n{HINT.format(name)}"
    problems = list_problems(played)
    assert not problems, "\n".join([f"dialogue {name}", *problems])
    speakers = {turn.turn.by or played.dialogue.person for turn in played.turns if turn.turn.say}
    assert len({tuple(split_fixed(one.prompt)[0]) for one in played.asked}) == len(speakers), (
        "the fixed text changed in the middle of a dialogue"
    )


@pytest.mark.parametrize("person", PEOPLE)
async def test_the_fixed_text_is_the_recorded_one(person: str, tmp_path: Path) -> None:
    """What every prompt begins with, the instructions and the portal card, is recorded once, so that a change of it misses once."""
    dialogue = next(one for one in load_dialogues().values() if one.person == person)
    played = await play_dialogue(dialogue, tmp_path)
    for text in split_fixed(played.asked[0].prompt)[0]:
        name = name_fixed(text, person)
        difference = find_difference(read_recorded(name), text)
        assert not difference, f"{name} is another text than the recorded one at {difference}\n{HINT.format(dialogue.name)}"


def test_the_dialogues_are_those_of_the_measure() -> None:
    """At least sixty-nine dialogues, six of them at least in English, with sixty follow-ups and, with the ordinary requests, sixty requests to write."""
    dialogues = load_dialogues().values()
    turns = [turn for one in dialogues for turn in one.turns]
    assert len(dialogues) >= 69
    assert sum(one.person == "english" for one in dialogues) >= 6
    assert sum(turn.follows for turn in turns) >= 60
    assert sum(turn.cards is not None for turn in turns) >= 60
    assert all(turn.cards is None or turn.cards <= 1 for turn in turns)


async def test_the_player_sees_wrong_records_second_cards_and_code_words(tmp_path: Path) -> None:
    """What the tests above rest on: a dialogue whose expectations are wrong is reported, each with its turn."""
    sound = load_dialogues()["01-third-of-a-list"]
    first, second, third, *_ = sound.turns
    wrong = third.model_copy(update={"after": {"deal:423": {"STAGE_ID": "WON"}}})
    blind = second.model_copy(update={"cards": 0, "hides": ("Подготовка документов",), "answers": (*second.answers, "never asked for")})
    played = await _play([first, blind, wrong], sound, tmp_path)
    problems = list_problems(played)
    assert [problem.partition("»: ")[2] for problem in problems] == [
        "1 answers were never asked for", "1 cards, not 0", "«Подготовка документов» was shown", "deal:423 was not changed",
        "deal:445 was changed, which the dialogue does not allow: {'STAGE_ID': 'EXECUTING'}",
    ]  # fmt: skip
    figures = measure([played])
    assert (figures.requests, figures.clean, figures.followups, figures.wrong, dict(figures.cards)) == (2, 1, 1, 1, {1: 1})


async def _play(turns: list[object], of: Dialogue, folder: Path) -> Played:
    return await play_dialogue(of.model_copy(update={"turns": turns}), folder)


def test_the_first_line_that_differs_is_shown() -> None:
    """Under the heading of its prompt, with both versions, and of a long line only the part around the difference."""
    recorded = "===== turn 1, prompt 2: 2 messages as before =====\n[user]\n" + "а" * 300 + "б"
    assert find_difference(recorded, recorded) == ""
    found = find_difference(recorded, recorded.replace("б", "в"))
    assert found.startswith("turn 1, prompt 2: 2 messages as before, line 3:\n  recorded: …")
    assert found.endswith("аб\n  now:      …" + "а" * 100 + "в")
    assert find_difference(recorded, f"{recorded}\nmore").endswith("(nothing)\n  now:      more")
