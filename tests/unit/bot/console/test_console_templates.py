"""An author may begin with a definition that works, and gets it as its author wrote it."""

import pytest

from bot.console.definitions.templates import Template, list_templates
from tests.unit.bot.console.console_kit import ANNA, OLGA, ConsoleWorld
from tests.unit.bot.console.definitions_kit import be, find_code, get_service, hand_in

ALL = [template for kind in ("scenario", "workflow") for template in list_templates(kind)]


async def test_examples_are_offered_where_a_definition_is_created(made: ConsoleWorld) -> None:
    """By title and what they are for; whoever may write none is offered none."""
    page = await made.open("/definitions", OLGA)
    await page.press("Из примера…")
    assert page.has("С какого примера начать")
    for template in ALL:
        assert page.has(template.title)
        assert page.has(template.description)
    assert not (await made.open("/definitions", ANNA)).has("Из примера…")


@pytest.mark.parametrize("template", ALL, ids=lambda template: template.key)
async def test_an_example_is_opened_and_saved_with_its_comments(template: Template, made: ConsoleWorld) -> None:
    """Byte for byte, under a key that is given; wrong is only what this portal calls otherwise, of which its comments warn."""
    page = await made.open(template.address.removeprefix("/console"), OLGA)
    assert find_code(page).value == template.text
    checked = await get_service(made).check(be(), template.kind, template.key, hand_in(template.text))
    wrong = [finding.path for finding in checked.findings if finding.severity == "error"]
    assert all(path.endswith(".STATUS_ID") for path in wrong)
    await page.press("Сохранить черновик")
    if wrong:
        assert page.has("У поля STATUS_ID нет значения PROCESSED.")
        return
    stored = await get_service(made).find_version(be(), template.kind, template.key, 1)
    assert stored.source == template.text


async def test_an_unknown_example_is_a_new_definition(made: ConsoleWorld) -> None:
    page = await made.open("/definitions/scenario/new?template=../../etc/passwd", OLGA)
    assert find_code(page).value == find_code(await made.open("/definitions/scenario/new", OLGA)).value
