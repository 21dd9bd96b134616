"""The editor of definitions: checked while somebody types, saved as a draft, and nothing lost when others save too."""

from json import dumps
from pathlib import Path
from typing import Any

import pytest
from nicegui import ui

from bot.console.canvas import Canvas
from bot.console.definitions import document
from orchestrator.documents.reading import MAX_BYTES
from state.journal.store import StoreError
from tests.unit.bot.console.console_kit import OLGA, ConsoleWorld, OpenPage, a_console
from tests.unit.bot.console.definitions_kit import BROKEN, HELLO, be, change, find_code, get_service, hand_in, store, type_text
from tests.unit.runs.runs_kit import build_engines

EDIT = "/definitions/scenario/hello/edit"
MINE = HELLO.replace("Здравствуйте", "Моё")
THEIRS = HELLO.replace("Здравствуйте", "Чужое")


async def open_editor(made: ConsoleWorld, path: str = EDIT) -> OpenPage:
    """Open an editor as Olga, and wait for its first check."""
    page = await made.open(path, OLGA)
    await page.settle()
    return page


async def choose(page: OpenPage, *, is_theirs: bool) -> None:
    """At the first place that both changed."""
    await change(page, next(one for one in page.elements if isinstance(one, ui.radio)), is_theirs)


async def read_draft(made: ConsoleWorld, version: int = 0) -> str:
    """The text of a stored version, the last one for 0, as data."""
    return str((await get_service(made).find_version(be(), "scenario", "hello", version)).document)


def find_box(page: OpenPage) -> object:
    """The element that hears what the browser has kept."""
    return next(one for one in page.elements if "data-keep" in one.props)


@pytest.mark.req("C-28")
async def test_findings_follow_the_text_with_their_lines(made: ConsoleWorld) -> None:
    """A broken transition is found while it is typed, with its line and column, and its line is marked; mended, it is gone."""
    await store(made)
    page = await open_editor(made)
    assert page.has("Ошибок нет.")

    await type_text(page, BROKEN)
    assert page.has("Шага «nowhere» нет.")
    assert page.has("6:3")

    await type_text(page, HELLO)
    assert not page.has("Шага «nowhere» нет.")


@pytest.mark.req("C-28")
async def test_the_marks_stand_at_the_lines_of_findings(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is told which line is wrong and why, and goes there when the finding is pressed."""
    await store(made)
    page = await open_editor(made)
    told: list[tuple[object, ...]] = []
    monkeypatch.setattr(find_code(page), "run_method", lambda *args: told.append(args))

    await type_text(page, BROKEN)
    marks, tips = (next(args[1] for args in told if args[0] == name) for name in ("setDecorations", "setLineTooltips"))
    assert marks[0] == {"kind": "line", "line": 6, "class": "cm-finding-error"}  # type: ignore[index]
    assert tips[6] == "Шага «nowhere» нет."  # type: ignore[index]

    await page.press("Строка 6, столбец 3: показать в тексте")
    assert ("revealLine", 6) in told


@pytest.mark.req("C-28", "S002-3")
async def test_saving_makes_a_draft_and_publishes_nothing(made: ConsoleWorld) -> None:
    """After a published version the text becomes a new draft; saved again, it replaces that draft."""
    await store(made, publish=True)
    page = await open_editor(made)
    assert page.has("Опубликована: версия 1")

    await type_text(page, MINE)
    assert page.has("Не сохранено")
    await page.press("Сохранить черновик")
    await type_text(page, MINE.replace("Моё", "Моё второе"))
    await page.press("Сохранить черновик")

    head = await get_service(made).find_key(be(), "scenario", "hello")
    assert (head.active_version, head.last_version) == (1, 2)
    assert "Моё второе" in await read_draft(made)
    assert page.has("Сохранено: версия 2, черновик")


@pytest.mark.req("C-28", "C-40")
async def test_a_text_with_mistakes_is_not_saved_and_stays(made: ConsoleWorld) -> None:
    """The service refuses it; the text stands where it stood, with what is wrong."""
    await store(made)
    page = await open_editor(made)

    await type_text(page, BROKEN)
    await page.press("Сохранить черновик")

    assert "nowhere" not in await read_draft(made)
    assert find_code(page).value == BROKEN
    assert page.has("Не сохранено")
    assert page.has("Шага «nowhere» нет.")


@pytest.mark.req("C-40")
async def test_who_was_second_sees_the_difference_and_takes_theirs(made: ConsoleWorld) -> None:
    """Their text comes into the editor, and the browser is told to keep the person's own."""
    draft = await store(made)
    page = await open_editor(made)
    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(THEIRS), expected=draft.revision)
    kept: list[str] = []
    page.visit.page.run_javascript = lambda code, **_: kept.append(code)  # type: ignore[method-assign,assignment]

    await type_text(page, MINE)
    await page.press("Сохранить черновик")
    assert page.has("Вера сохранил(а) версию 1")
    assert "Чужое" in await read_draft(made)

    await page.press("Взять их")
    assert "Чужое" in find_code(page).value
    assert f"sdelkaTexts.setAside({dumps(MINE)})" in kept
    assert page.has("Сохранено: версия 1, черновик")


@pytest.mark.req("C-40")
@pytest.mark.parametrize("word", ["Моё", "Чужое"])
async def test_who_was_second_chooses_what_stays(made: ConsoleWorld, word: str) -> None:
    """At the one place that both changed; nothing is stored before they have chosen."""
    draft = await store(made)
    page = await open_editor(made)
    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(THEIRS), expected=draft.revision)

    await type_text(page, MINE)
    await page.press("Сохранить черновик")
    assert page.has("steps.hello.params.text")
    await page.press("Сохранить так")
    assert "Чужое" in await read_draft(made)
    await choose(page, is_theirs=word == "Чужое")
    await page.press("Сохранить так")

    assert word in await read_draft(made)
    assert word in find_code(page).value
    assert page.has("Сохранено: версия 1, черновик")


@pytest.mark.req("C-40")
async def test_a_draft_that_was_published_meanwhile_stays_as_it_is(made: ConsoleWorld) -> None:
    """What is typed on after the publication becomes a new version."""
    draft = await store(made)
    page = await open_editor(made)
    await get_service(made).publish(be(), "scenario", "hello", 1, expected=draft.revision)

    await type_text(page, MINE)
    await page.press("Сохранить черновик")

    assert "Здравствуйте" in await read_draft(made, 1)
    assert "Моё" in await read_draft(made, 2)


@pytest.mark.req("C-40")
async def test_a_new_draft_of_somebody_else_is_not_passed_over(made: ConsoleWorld) -> None:
    """Whoever edits the published version while another one makes a draft sees it before anything is stored."""
    await store(made, publish=True)
    page = await open_editor(made)
    await store(made, THEIRS)

    await type_text(page, MINE)
    await page.press("Сохранить черновик")

    assert page.has("Вера сохранил(а) версию 2")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).last_version == 2


@pytest.mark.req("C-40")
async def test_what_the_browser_has_kept_is_offered_with_its_time(made: ConsoleWorld) -> None:
    """The texts are offered; what the browser says is believed in its form alone."""
    await store(made)
    page = await open_editor(made)
    asked: list[str] = []
    page.visit.page.run_javascript = lambda code, **_: asked.append(code)  # type: ignore[method-assign,assignment]
    hostile = [
        {"slot": '");alert(1);("', "at": 1779537600000},
        {"slot": 5, "at": 1},
        {"slot": "x" * 400, "at": 1},
        {"slot": "y", "at": 1e30},
        "z",
    ]

    await page.act(find_box(page), "kept", {"detail": hostile})  # type: ignore[arg-type]

    assert page.has("В этом браузере есть несохранённый текст, 23.05 ")
    assert len([one for one in page.read_texts() if one == "Восстановить"]) == 1
    await page.press("Восстановить")
    assert asked == ['sdelkaTexts.restore("\\");alert(1);(\\"")']


@pytest.mark.req("S002-3")
async def test_something_new_gets_its_key_and_title(made: ConsoleWorld) -> None:
    """The editor begins with a correct scenario; what is saved under the key is a draft, and a key that is taken is not overwritten."""
    await store(made)
    page = await open_editor(made, "/definitions/scenario/new")
    assert page.has("Ошибок нет.")

    await page.enter("Ключ, латиницей", "hello")
    await page.press("Сохранить черновик")
    assert page.has("Определение с таким ключом уже есть")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).last_version == 1

    await page.enter("Ключ, латиницей", "fresh")
    await page.press("Сохранить черновик")
    head = await get_service(made).find_key(be(), "scenario", "fresh")
    assert (head.title, head.active_version, head.last_version) == ("Новое", 0, 1)


@pytest.mark.req("S002-3")
@pytest.mark.parametrize("kind", ["agent", "flow", "workflow", "tuum"])
async def test_each_kind_begins_with_something_that_can_be_read(made: ConsoleWorld, kind: str) -> None:
    """Nothing is wrong with it but what only its author can say: the agent of a flow."""
    page = await open_editor(made, f"/definitions/{kind}/new")

    wrong = [one for one in page.read_texts() if one == "ошибка"]
    assert len(wrong) == (1 if kind == "flow" else 0), page.read_texts()


@pytest.mark.req("C-28")
async def test_the_text_is_written_in_another_form(made: ConsoleWorld) -> None:
    """YAML becomes JSON and is checked as such; a text that cannot be read stays as it is."""
    await store(made)
    page = await open_editor(made)
    form = next(one for one in page.elements if isinstance(one, ui.toggle))

    await change(page, form, "json")
    assert find_code(page).value.startswith("{\n")
    assert not page.has("Не сохранено")

    await type_text(page, "{")
    await change(page, form, "yaml")
    assert (find_code(page).value, form.value) == ("{", "json")  # type: ignore[attr-defined]


@pytest.mark.req("C-39")
async def test_hostile_texts_stay_texts_in_the_editor(made: ConsoleWorld) -> None:
    """A megabyte is refused with the sentence of the service, and HTML in names stays text in findings and in the graph."""
    await store(made)
    page = await open_editor(made)

    await type_text(page, HELLO.replace("id: hello", "id: '<img src=x onerror=alert(1)>'"))
    [canvas] = [one for one in page.elements if isinstance(one, Canvas)]
    assert canvas.props["boxes"][0]["title"].startswith(
        "<img src=x"
    )  # the component shows it as text, see tests/e2e/test_console_canvas.py
    assert "<img" not in str([[one["id"], one["ports"]] for one in canvas.props["boxes"]])

    await type_text(page, "# " + "я" * (MAX_BYTES // 2) + "\n" + HELLO)
    assert page.has("а читается не больше 1")
    await page.press("Сохранить черновик")
    assert "Здравствуйте" in await read_draft(made)
    assert (await get_service(made).find_key(be(), "scenario", "hello")).last_version == 1


@pytest.mark.req("C-31")
async def test_only_what_is_saved_can_be_published(made: ConsoleWorld) -> None:
    """The editor publishes the stored draft, and asks to save before."""
    await store(made)
    page = await open_editor(made)

    await type_text(page, MINE)
    await page.press("Опубликовать…")
    assert not page.has("Публикация версии 1")

    await page.press("Сохранить черновик")
    await page.press("Опубликовать…")
    await page.press("Опубликовать")
    head = await get_service(made).find_key(be(), "scenario", "hello")
    assert head.active_version == 1
    assert "Моё" in await read_draft(made, 1)
    assert page.has("Опубликована: версия 1")
    assert page.has("Запустить и посмотреть, как оно работает?")


@pytest.mark.req("C-26")
async def test_another_format_loses_comments_only_after_a_question(made: ConsoleWorld) -> None:
    """Without consent the text stays as it is, in its format; a text without comments is written at once."""
    await store(made)
    page = await open_editor(made)
    commented = "# Зачем это\n" + HELLO
    await type_text(page, commented)

    await change(page, next(one for one in page.elements if isinstance(one, ui.toggle)), "json")
    assert page.has("В тексте есть комментарии")
    assert find_code(page).value == commented
    assert next(one for one in page.elements if isinstance(one, ui.toggle)).value == "yaml"

    await page.press("Продолжить без комментариев")
    assert find_code(page).value.startswith("{")
    assert next(one for one in page.elements if isinstance(one, ui.toggle)).value == "json"

    await change(page, next(one for one in page.elements if isinstance(one, ui.toggle)), "yaml")
    assert find_code(page).value.startswith("name: Привет")


@pytest.mark.req("C-31", "C-40")
async def test_another_title_alone_is_not_saved_either(tmp_path: Path) -> None:
    """Of a kind whose texts have no title: the editor says so, publishes nothing before it is saved, and the browser watches the field."""
    async with a_console(tmp_path, engines=build_engines({})) as made:
        await store(made, "steps: [{name: s0, say: Hi}]", key="greet", kind="steps")
        page = await open_editor(made, "/definitions/steps/greet/edit")
        said = str(page.find("Название", "Input").props["data-keep-beside"])
        assert page.has("Сохранено: версия 1, черновик")

        await page.enter("Название", "Встреча")
        assert page.has("Не сохранено")
        await page.press("Опубликовать…")
        assert not page.has("Публикация версии 1")

        await page.press("Сохранить черновик")
        assert page.has("Сохранено: версия 1, черновик")
        [head] = await get_service(made).list_keys(be())
        assert [said, head.title] == ["", "Встреча"]
        await page.press("Опубликовать…")
        assert page.has("Публикация версии 1")


@pytest.mark.req("C-40")
async def test_two_who_save_at_once_do_not_pass_each_other_over(made: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two who edit the published version, the one whose text is stored a moment later sees the other's draft first."""
    await store(made, publish=True)
    page, service = await open_editor(made), get_service(made)
    create = service.create

    async def create_after_vera(*args: Any, **more: Any) -> Any:
        monkeypatch.undo()
        await store(made, THEIRS)
        return await create(*args, **more)

    await type_text(page, MINE)
    monkeypatch.setattr(service, "create", create_after_vera)
    await page.press("Сохранить черновик")

    assert page.has("Вера сохранил(а) версию 2")
    assert (await service.find_key(be(), "scenario", "hello")).last_version == 2


@pytest.mark.req("C-28", "C-40")
async def test_a_text_that_could_not_be_checked_is_not_said_to_be_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database does not answer the page says so, and checks again by itself."""
    monkeypatch.setattr(document, "CHECK_AGAIN", 0.0)
    async with a_console(tmp_path) as made:
        await store(made)
        page, service = await open_editor(made), get_service(made)
        check, seen = service.check, list[bool]()

        async def check_once_without_database(*args: Any, **more: Any) -> Any:
            if not seen:
                seen.append(page.has("Текст сейчас проверить нельзя"))
                raise StoreError("gone")
            seen.append(page.has("Текст сейчас проверить нельзя") and not page.has("Ошибок нет."))
            return await check(*args, **more)

        monkeypatch.setattr(service, "check", check_once_without_database)
        await type_text(page, BROKEN)

        assert seen == [False, True]
        assert page.has("Шага «nowhere» нет.")
        assert not page.has("Текст сейчас проверить нельзя")


@pytest.mark.req("C-31", "C-40")
async def test_nobody_publishes_a_text_that_the_page_does_not_show(made: ConsoleWorld) -> None:
    """Whose draft was replaced by somebody else gets that text in place of the publication, is told what changed, and publishes it then."""
    draft = await store(made)
    page = await open_editor(made)
    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(THEIRS), expected=draft.revision)

    await page.press("Опубликовать…")
    assert page.has("сохранил(а) Вера. Изменено: steps.hello.params.text")
    assert not page.has("Публикация версии 1")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 0

    await page.press("Опубликовать…")
    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 1
    assert "Чужое" in find_code(page).value


@pytest.mark.req("C-40")
async def test_a_page_says_that_its_draft_was_replaced(made: ConsoleWorld) -> None:
    """The next change that pages hear of is told with who and when; a text that is the same is no news."""
    draft = await store(made)
    page = await open_editor(made)
    await page.visit.feed.refresh_all()
    assert page.has("Сохранено: версия 1, черновик")

    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(THEIRS), expected=draft.revision)
    await page.visit.feed.refresh_all()
    assert page.has("Вера сохранил(а) версию 1")
    assert page.has("В этом редакторе — прежний текст")
    assert page.has("Уже не последняя")
    assert not page.has("Сохранено: версия 1, черновик")

    await page.press("Внести в мой текст")
    await page.visit.feed.refresh_all()
    assert "Чужое" in find_code(page).value
    assert page.has("Сохранено: версия 1, черновик")
    assert not page.has("В этом редакторе — прежний текст")


@pytest.mark.req("C-31", "C-40")
async def test_a_publication_of_what_the_page_shows_is_seen_there(made: ConsoleWorld) -> None:
    """What is typed on becomes the next version, and no conflict with oneself."""
    draft = await store(made)
    page = await open_editor(made)
    await get_service(made).publish(be(), "scenario", "hello", 1, expected=draft.revision)
    await page.visit.feed.refresh_all()
    assert page.has("Опубликована: версия 1")

    await type_text(page, MINE)
    await page.press("Сохранить черновик")
    assert "Моё" in await read_draft(made, 2)


@pytest.mark.req("C-31", "C-40")
async def test_a_published_text_that_the_page_never_had_is_not_reverted(made: ConsoleWorld) -> None:
    """Somebody saves while the dialog of the publication is open, and theirs is published from it: the page goes on with its own text as one that conflicts."""
    draft = await store(made)
    page = await open_editor(made)
    await page.press("Опубликовать…")
    await get_service(made).save(be(), "scenario", "hello", 1, hand_in(THEIRS), expected=draft.revision)
    await page.press("Опубликовать")
    assert page.has("Ничего не опубликовано")
    await page.press("Опубликовать")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).active_version == 1
    assert page.has("Уже не последняя")

    await type_text(page, MINE)
    await page.press("Сохранить черновик")
    assert page.has("Вы оба изменили одно и то же")
    assert (await get_service(made).find_key(be(), "scenario", "hello")).last_version == 1
