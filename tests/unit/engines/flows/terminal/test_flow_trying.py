"""`sdelka flow run`: a flow is tried in the terminal with its real engine, and nothing but models is asked."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.unit.engines.flows.terminal.flow_files import OFFER, WRITER, call, call_json, create_database, write_files
from tests.unit.engines.scenarios.terminal.scenario_files import expect, stand_alone
from tests.unit.model_client.loopback_kit import FINE, reply, serving

ANSWERS = "draft: {each: [{failed: тишина}, Здравствуйте]}\nreview: {verdict: хорошо, offer: Добрый день}\n"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with the files, and settings that name a database which is not there yet."""
    stand_alone(monkeypatch, tmp_path)
    write_files(tmp_path)
    (tmp_path / "answers.yaml").write_text(ANSWERS, encoding="utf-8")
    return tmp_path


def test_steps_attempts_and_the_result_are_shown_as_they_come() -> None:
    """With scripted answers: the failed attempt, the next one, both answers, and the result as a chat has it; nothing is asked twice."""
    told = expect(call("run", "offer.yaml", "--answers", "answers.yaml", "--param", "client=Ромашка", "--param", "budget=5 000,5"), 0)
    assert told == (
        "⏳ draft\n❌ draft: ответа нет (тишина)\n⏳ draft (2/2)\n✅ draft: Здравствуйте\n"
        '⏳ review\n✅ review: {"offer":"Добрый день","verdict":"хорошо"}\n'
        '\n{"offer":"Добрый день","verdict":"хорошо"}\n\n— готово\n'
    )


def test_programs_get_an_event_a_line_and_the_result_last(folder: Path) -> None:
    """Steps with visit and attempt, answers as texts, and what came of the flow."""
    (folder / "offer.yaml").write_text(OFFER.replace("output.content", "output.offer"), encoding="utf-8")
    code, events = call_json("run", "offer.yaml", "--answers", "answers.yaml", "--param", "client=x", "--param", "budget=5")
    assert code == 0
    assert [(one["event"], one["step"], one["visit"], one["attempt"]) for one in events[:-1]] == [
        ("step", "draft", 1, 1), ("no_answer", "draft", 1, 1), ("step", "draft", 1, 2), ("answer", "draft", 1, 2),
        ("step", "review", 1, 1), ("answer", "review", 1, 1),
    ]  # fmt: skip
    assert (events[-1]["event"], events[-1]["outcome"], events[-1]["result"]["payload"]) == ("end", "done", {"offer": "Добрый день"})


def test_parameters_that_are_not_given_are_asked_for_one_by_one(folder: Path) -> None:
    """What does not fit is asked again, an empty line leaves out what may be left out, and the end of the input ends the command."""
    words = ("run", "offer.yaml", "--answers", "answers.yaml")
    expect(call(*words, typed="Ромашка\nмного\n5000\n"), 0, "Для кого предложение?\n> ", "(можно пропустить: пустая строка)", "Нужно число")
    assert call(*words, typed="Ромашка\n\n")[0] == 0
    expect(call(*words, typed="Ромашка\nотмена\n"), 2, "nothing was run")
    expect(call(*words, typed=""), 2, "--param client=…")


def test_a_choice_is_a_number_or_its_words_and_a_default_is_an_empty_line(folder: Path) -> None:
    """What the agents are told is the value that was chosen."""
    declared = "[{name: tone, choices: [деловой, краткий], default: деловой}, {name: call, type: boolean, required: false}]"
    text = OFFER.partition("launchParameters:")[0] + f"launchParameters: {declared}\nsteps:" + OFFER.partition("steps:")[2]
    (folder / "offer.yaml").write_text(text, encoding="utf-8")
    words = ("run", "offer.yaml", "--answers", "answers.yaml", "--language", "en")
    told = call(*words, typed="2\nYes\n")[1]
    assert "  1. деловой\n  2. краткий\n" in told
    assert "  1. Yes\n  2. No\n" in told
    assert call(*words, typed="\n\n")[0] == 0
    assert call(*words, "--param", "tone=краткий", "--param", "call=No")[0] == 0
    expect(call(*words, "--param", "tone=сухой"), 2, "деловой, краткий")


@pytest.mark.parametrize(("words", "why"), [
    (("--param", "clint=x"), "there is no such parameter, perhaps client"),
    (("--param", "client"), "a value such as"),
    (("--param", "client=x", "--param", "budget=много"), "--param budget: Нужно число"),
    (("--version", "2"), "a file has one version"),
    (("--answers", "other.yaml"), "there is no step drft, perhaps draft"),
    (("--answers", "writer.yaml.gone"), "cannot be read"),
])  # fmt: skip
def test_wrong_use_is_refused_with_what_was_meant(folder: Path, words: tuple[str, ...], why: str) -> None:
    """Before any agent is asked."""
    (folder / "other.yaml").write_text("drft: x\n", encoding="utf-8")
    expect(call("run", "offer.yaml", *words), 2, why)


def test_a_flow_that_fails_is_not_finished_or_has_mistakes_exits_with_1(folder: Path) -> None:
    """Each says why: the step that failed, the answer that is missing, the mistakes of its files."""
    (folder / "answers.yaml").write_text("draft: {failed: тишина}\n", encoding="utf-8")
    words = ("run", "offer.yaml", "--answers", "answers.yaml", "--param", "client=x")
    told = expect(call(*words), 1)
    assert told.count("❌ draft: ответа нет (тишина)") == 2
    assert "Шаг «draft» не получился" in told
    assert told.endswith("— не получилось\n")
    (folder / "answers.yaml").write_text("draft: {each: [{failed: x}]}\n", encoding="utf-8")
    expect(call(*words), 1, "Не доиграно: step draft of offer is done a further time")
    (folder / "writer.yaml").write_text("systemPrompt: 7\n", encoding="utf-8")
    expect(call(*words), 1, "writer.yaml: 1 ошибка.")
    assert [one["file"] for one in call_json(*words)[1]] == ["writer.yaml"]
    (folder / "writer.yaml").unlink()
    expect(call(*words), 2, "there are no files of the agents writer")


async def test_the_models_of_the_settings_are_asked_as_in_the_product(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the agent's part as system message and the parameters as JSON; a model that refuses is a failed attempt."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    async with serving(lambda seen: FINE) as service:
        monkeypatch.setenv("OPENAI_API_BASE", f"{service.base}/v1")
        expect(await asyncio.to_thread(call, "run", "offer.yaml", "--param", "client=Ромашка"), 0, "✅ draft: Привет")
        first = json.loads(service.seen[0].body)["messages"]
        assert [one["role"] for one in first] == ["system", "user"]
        assert first[0]["content"] == "Ты пишешь коммерческие предложения."
        assert json.loads(first[1]["content"]) == {"context": {}, "parameters": {"client": "Ромашка"}}
        assert len(service.seen) == 2
    async with serving(lambda seen: reply({"error": {"message": "no"}}, 400)) as service:
        monkeypatch.setenv("OPENAI_API_BASE", f"{service.base}/v1")
        code, told = await asyncio.to_thread(call, "run", "offer.yaml", "--param", "client=Ромашка")
        assert (code, len(service.seen)) == (1, 2)
        assert told.count("❌ draft") == 2


def test_a_published_flow_is_played_by_its_key_with_the_agents_of_the_store(folder: Path) -> None:
    """Files that were changed since do not reach it; without a database it is said what is missing."""
    words = ("run", "offer", "--answers", "answers.yaml", "--param", "client=x")
    expect(call(*words), 2, "offer is no file")
    create_database(folder)
    assert call("publish", "offer.yaml", "--agent", "writer.yaml", "--agent", "reviewer.yaml")[0] == 0
    for name in ("writer", "reviewer", "offer"):
        (folder / f"{name}.yaml").unlink()
    assert call(*words)[0] == 0
    assert call(*words, "--version", "1")[0] == 0
    assert call(*words, "--version", "7")[0] == 2
    assert call("run", "other")[0] == 2


def test_agents_of_a_file_are_files_beside_it_or_in_its_folder_of_agents_or_published(folder: Path) -> None:
    """Each by its key; a file counts more than the store."""
    create_database(folder)
    assert call("publish", "offer.yaml", "--agent", "writer.yaml", "--agent", "reviewer.yaml")[0] == 0
    (folder / "agents").mkdir()
    (folder / "writer.yaml").rename(folder / "agents" / "writer.yaml")
    (folder / "reviewer.yaml").unlink()
    words = ("run", "offer.yaml", "--answers", "answers.yaml", "--param", "client=x")
    assert call(*words)[0] == 0
    (folder / "agents" / "writer.yaml").write_text(WRITER + "efects: []\nsystemPrompt: 7\n", encoding="utf-8")
    expect(call(*words), 1, "agents/writer.yaml")


def test_a_flow_that_may_not_start_in_chats_or_over_http_may_be_tried(folder: Path) -> None:
    """Whoever writes it has to see that it works."""
    (folder / "offer.yaml").write_text(OFFER + "triggers: {ui: false, api: false}\n", encoding="utf-8")
    assert call("run", "offer.yaml", "--answers", "answers.yaml", "--param", "client=x")[0] == 0
