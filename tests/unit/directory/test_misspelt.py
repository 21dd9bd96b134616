"""Names with one or two wrong letters: the nearest are offered as buttons, and none of them is ever taken by itself."""

import random

import pytest

from orchestrator.directory.answers import Ambiguous, Unresolved
from orchestrator.directory.ranking import Candidate, find_nearest
from orchestrator.language.text import normalize_text
from orchestrator.language.title_matching import list_search_pieces, measure_match, measure_misspelling
from tests.unit.directory.test_lookup import add, resolve
from tests.unit.spine_kit import ANNA, BORIS, World, message, reply, step

TITLES = ("Ромашка", "Северный ветер", "Вектор", "Лютик опт", "Транспортная компания Альфа", "Ковалёва Анна", "Медтехника Сервис", "Globex")
LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюя"


@pytest.mark.parametrize(
    ("query", "title", "wrong"),
    [
        ("Севрный ветер", "Северный ветер", 1),
        ("Ромшка", "Ромашка", 1),
        ("Ромшки", "Ромашка", 1),
        ("Севрному ветру", "Северный ветер", 1),
        ("Рамашка", "Ромашка", 1),
        ("Ормашка", "Ромашка", 1),
        ("Ромажка опт", "Ромашка — опт", 1),
        ("Севрный", "Северный ветер", 1),
        ("СеверныйВетер", "Северный ветер", 0),
        ("ветер Севрный", "Северный ветер", 1),
        ("Транспортная компния", "Транспортная компания Альфа", 1),
        ("Рмшка", "Ромашка", 2),
        ("Ковалва Ана", "Ковалёва Анна", 2),
        ("Globxe", "Globex", 1),
        ("ООО Ромшка", "Ромашка", 1),
        ("ООО Ромшка", "АО Ромашка", None),
        ("Рмшк", "Ромашка", None),
        ("Лтк", "Лютик", None),
        ("Ромашка 12", "Ромашка 13", None),
        ("Инна", "Нина", 1),
        ("Анна", "Нина", None),
        ("Василёк", "Ромашка", None),
        ("сделка", "Ромашка", None),
        ("", "Ромашка", None),
        ("Севрный ветир ютг", "Северный ветер юг", None),
    ],
)
def test_the_wrong_letters_of_a_name(query: str, title: str, wrong: int | None) -> None:
    """Endings do not count, numbers and short words must be right, and three wrong letters are another name."""
    assert measure_misspelling(query, title) == wrong


def _misspell(word: str, chance: random.Random) -> str:
    at, letter = chance.randrange(len(word)), chance.choice(LETTERS)
    after = word[at + 1 : at + 2]
    return chance.choice([
        word[:at] + word[at + 1 :], word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :], word[:at] + after + word[at] + word[at + 2 :],
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(300))
def test_every_single_slip_is_found_and_understood(seed: int) -> None:
    """A letter left out, doubled, mistaken or swapped in a word of five or more: the portal's search reaches the title, and it is near."""
    chance = random.Random(seed)  # noqa: S311 - the same slips each time
    title = chance.choice(TITLES)
    words = title.split()
    at = chance.choice([number for number, word in enumerate(words) if len(word) > 4])
    words[at] = _misspell(words[at], chance)
    query = " ".join(words)
    assert measure_match(query, title) > 0 or measure_misspelling(query, title) is not None
    assert any(piece in normalize_text(title) for piece in list_search_pieces(query))


def test_the_nearest_stand_first_and_are_few() -> None:
    """Fewer wrong letters, then open before closed, mine before others'."""
    titles = {1: "Ромашка", 2: "Рюмашка", 3: "Ромашка юг", 4: "Вектор", 5: "Ромашка"}
    rows: list[Candidate[None]] = [
        Candidate(id=number, title=title, item=None, owner=7 if number == 5 else 8) for number, title in titles.items()
    ]
    assert [one.id for one in find_nearest("Ромшка", rows, me=7)] == [5, 3, 1, 2]
    assert len(find_nearest("Ромшка", [Candidate(id=number, title="Ромашка", item=None) for number in range(1, 20)], me=None)) == 6


@pytest.mark.parametrize(
    ("name", "title"), [("Севрный ветер", "Северный ветер"), ("Ромшка", "Ромашка"), ("Севрного ветра", "Северный ветер")]
)
async def test_a_single_near_name_is_still_a_question(world: World, name: str, title: str) -> None:
    """A button with the record as it is called; nothing is taken though there is only one."""
    add(world, "Северный ветер")
    found = await resolve(world, f"@deal:{name}", text=f"подними сумму {name}")
    assert isinstance(found, Ambiguous)
    assert found.is_guess
    assert (found.ask.code, found.ask.args) == ("nearest-record", {"name": name})
    assert [option.label.startswith(f"{title} · ") for option in found.options] == [True]


async def test_a_name_that_is_right_is_not_asked_about(world: World) -> None:
    """The near one does not disturb, and no further search is made."""
    add(world, "Рамашка")
    assert (await resolve(world, "@deal:Ромашка")).value == 481
    assert [method for method, _ in world.portal.requests].count("batch") == 0


async def test_records_of_others_are_not_offered(world: World) -> None:
    """Nor told about: to who may not see it, there is nothing like it."""
    add(world, "Северный ветер", owner=8)
    assert isinstance(await resolve(world, "@deal:Севрный ветер"), Unresolved)
    assert isinstance(await resolve(world, "@deal:Севрный ветер", actor=BORIS), Ambiguous)


@pytest.mark.parametrize(
    ("reference", "code", "labels"),
    [
        ("@user:Борса", "nearest-user", ["Борис"]),
        ("@stage:Успх", "nearest-stage", ["Успех"]),
        ("@category:Тендры", "nearest-category", ["Тендеры"]),
        ("@company:Вектр", "nearest-record", ["Вектор"]),
        ("@contact:Ивнов", "nearest-record", ["Иван"]),
    ],
)
async def test_people_stages_funnels_and_other_records_too(world: World, reference: str, code: str, labels: list[str]) -> None:
    """The same slip of the same fingers."""
    found = await resolve(world, reference)
    assert isinstance(found, Ambiguous)
    assert found.ask.code == code
    assert [option.label[: len(label)] for option, label in zip(found.options, labels, strict=True)] == labels


async def test_a_write_to_a_misspelt_deal_waits_for_the_press(world: World) -> None:
    """The turn ends with the question; nothing was written and no card was made for a guess."""
    world.model.will(
        reply(step("crm.timeline.comment.add", {"fields": {"ENTITY_TYPE": "deal", "ENTITY_ID": "@deal:Ромшка", "COMMENT": "да"}}))
    )
    await world.work(message("добавь к Ромшке комментарий: да", actor=ANNA))
    [row] = [row for row in world.outbox() if row.kind == "reply"]
    assert [choice["label"].split(" · ")[0] for choice in row.body["choices"]] == ["Ромашка"]
    assert world.portal.ledger == []
    assert "ConfirmationRequested" not in world.types()
