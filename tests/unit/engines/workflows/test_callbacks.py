"""The callback of a streamed answer: whatever it does, the answer comes as fast as it can and the run goes on (S003-43 … S003-45, S003-52)."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engines.workflows.core import tuum_work
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer
from tests.unit.engines.workflows.played_kit import a_workflow_world, code, result, start
from tests.unit.engines.workflows.workflow_kit import prompt, put, tuum, workflow
from tests.unit.runs.runs_kit import events, index
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import Said, World

BROKEN = {
    "never ends": "while True:\n    pass",
    "raises each time": "1 / 0",
    "uses all memory": "['x' * 1000000 for _ in range(1000)]",
    "recurses": "def again():\n    return again()\nagain()",
    "gives no object": "5",
    "proposes": "await emit({'operationType': 'DeleteEntity', 'entityType': 'deal', 'entityId': '1'})",
    "reads": "await query('crm.deal.get', {'id': 481})",
    "stops the run": "await stop('нет')",
    "shows what is no text": "await show(5)",
    "shows without end": "while True:\n    await show('x')",
    "cannot be read": "def (",
    "gives what cannot be kept": "{'count': float('nan')}",
}


def streamed(source: str, main: str = '{"all": f"{len(ai_final_output)} {ai_error} {count}"}') -> dict[str, Any]:
    """A workflow with one streamed tuum of this callback, which has and gives `count`, and of this main script."""
    writing = tuum(
        "write",
        promptRunes=[prompt("Напиши"), put("count", 0)],
        aiService="tool",
        isStreaming=True,
        chunkCallback=code(source, consumes="count ai_stream_output_added ai_stream_output_total tuum_execution_time", produces="count"),
        mainScript=code(main, consumes="ai_final_output ai_error count", produces="all"),
        outputMappings={"letter": "all"},
    )
    return workflow(writing, terminal={"rawText": "letter"})


UNSLOWED = 10.0
"""Seconds within which pieces are handed out that wait for no script, on the busiest machine; `make bench` says how long it really takes."""


class Stream:
    """A service of models that sends these pieces, and notes how long it took to hand them out."""

    def __init__(self, world: World, pieces: Sequence[str], *, fails: bool = False) -> None:
        """Answer in the place of the world's model; with `fails` the stream breaks off behind its last piece."""
        self._pieces, self._fails = pieces, fails
        self.seconds, self.asked = 0.0, 0
        world.model.stream_chat = self.answer  # type: ignore[method-assign]  # the wire of these tests

    async def answer(self, payload: Mapping[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        """Hand out the pieces as fast as they are taken."""
        del payload
        self.asked += 1
        begun = time.monotonic()
        for piece in self._pieces if on_delta is not None else ():
            await on_delta(piece)
        self.seconds = time.monotonic() - begun
        if self._fails:
            raise ModelClientError("the stream broke off")
        return Said("".join(self._pieces))


@pytest.mark.req("S003-43", "S003-52")
@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_callback_breaks_nothing(tmp_path: Path, name: str) -> None:
    """It is skipped and left alone after some failures; the answer is not slowed, and the main script finds the variable as it was."""
    async with a_workflow_world(tmp_path, streamed(BROKEN[name])) as world:
        stream = Stream(world, ["кусок "] * 50)
        await world.work(start())
        assert result(world)["rawText"] == "300 None 0"
        assert stream.seconds < UNSLOWED
        assert world.portal.requests == []


@pytest.mark.long
@pytest.mark.req("S003-43", "S003-44", "S003-48")
async def test_many_pieces_are_all_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The callback runs for each piece of one character, in order, with all that came before it; the service does not wait for it."""
    monkeypatch.setattr(tuum_work, "MOST_CALLBACK_SECONDS", 120.0)
    count = 1_000
    source = "ok = count + 1 == len(ai_stream_output_total) and len(ai_stream_output_added) == 1\n{'count': count + 1 if ok else -1}"
    async with a_workflow_world(tmp_path, streamed(source)) as world:
        stream = Stream(world, ["x"] * count)
        await world.work(start())
        assert result(world)["rawText"] == f"{count} None {count}"
        assert stream.seconds < UNSLOWED


@pytest.mark.req("S003-43")
async def test_a_slow_callback_is_left_alone_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that only just keeps its own limit does not hold the run for long: after a while no more pieces are given to it."""
    monkeypatch.setattr(tuum_work, "MOST_CALLBACK_SECONDS", 0.3)
    source = "n = 0\nwhile n < 20000:\n    n += 1\n{'count': count + 1}"
    async with a_workflow_world(tmp_path, streamed(source)) as world:
        stream = Stream(world, ["x"] * 10_000)
        await world.work(start())
        size, _, heard = result(world)["rawText"].split(" ")
        assert (size, 0 < int(heard) < 10_000) == ("10000", True)
        assert stream.seconds < UNSLOWED


@pytest.mark.req("S003-46", "S003-A7")
async def test_a_model_that_writes_too_much_is_one_that_gave_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three million characters, which no run can keep, the main script finds the beginning and the error; the run goes on."""
    main = '{"all": f"{len(ai_final_output)} {bool(ai_error)}"}'
    monkeypatch.setattr(tuum_work, "MOST_CALLBACK_SECONDS", 0.5)
    async with a_workflow_world(tmp_path, streamed("{'count': count + 1}", main)) as world:
        Stream(world, ["x" * 1000] * 3000)
        await world.work(start())
        assert result(world)["rawText"] == f"{tuum_work.MOST_PARTIAL} True"


@pytest.mark.req("S003-46", "S003-A7")
async def test_after_a_stream_that_broke_off_the_script_finds_what_came(tmp_path: Path) -> None:
    """It finds the text so far, why there is no more, and what the callback has made of it; a second pass finds the same."""
    main = 'await query("crm.deal.get", {"id": 481})\n{"all": f"{ai_final_output}: {ai_error}: {count}"}'
    async with a_workflow_world(tmp_path, streamed("{'count': count + 1}", main)) as world:
        stream = Stream(world, ["Добрый ", "день"], fails=True)
        await world.work(start())
        assert result(world)["rawText"] == "Добрый день: the stream broke off: 2"
        assert stream.asked == 1


@pytest.mark.req("S003-46", "S003-A7")
async def test_a_failure_of_the_model_is_remembered_with_what_the_callback_made(tmp_path: Path) -> None:
    """If the run fails behind it and is retried, the model is asked anew; within one attempt it is asked once."""
    main = 'if ai_error:\n    await stop(f"{count} {ai_error}")\n{"all": f"{ai_final_output} {count}"}'
    async with a_workflow_world(tmp_path, streamed("{'count': count + 1}", main)) as world:
        Stream(world, ["раз ", "два"], fails=True)
        await world.work(start())
        assert index(world).status == "failed"
        kept = [one.data["output"] for one in events(world, "NodeDone") if one.data["node"] == "write/ai/failed1"]
        assert [(one["text"], one["variables"]["count"]["data"]) for one in kept] == [("раз два", 2)]
        stream = Stream(world, ["три"])
        await world.work(order("retry"))
        assert result(world)["rawText"] == "три 1"
        assert stream.asked == 1


async def _play_unset(world: World, *pieces: str, fails: bool = False) -> str:
    """What the run said at its end, or why it failed."""
    Stream(world, pieces, fails=fails)
    await world.work(start())
    return str(result(world)["rawText"] or result(world)["errorMessage"])


@pytest.mark.req("S003-43", "S003-46", "S003-52", "S003-A7")
@pytest.mark.parametrize("source", ["1 / 0", "{}", '{"seen": 1 if ai_stream_output_total == "всё" else None}'])
async def test_what_a_callback_never_gave_is_null(tmp_path: Path, source: str) -> None:
    """A callback that breaks, or that nothing came for, breaks neither the main script that reads its variable nor the tuums behind it."""
    main = code('{"all": f"{ai_final_output}|{seen}"}', consumes="ai_final_output seen", produces="all")
    callback = code(source, consumes="ai_stream_output_total", produces="seen")
    writing = {"promptRunes": [prompt("Напиши")], "aiService": "tool", "isStreaming": True, "chunkCallback": callback}
    document = workflow(
        tuum("write", **writing, mainScript=main, outputMappings={"letter": "all", "noted": "seen"}),
        tuum(
            "behind",
            mainScript=code('{"end": f"{letter}|{noted}"}', consumes="letter noted", produces="end"),
            outputMappings={"end": "end"},
        ),
        terminal={"rawText": "end"},
    )
    for number, (pieces, fails) in enumerate([(["раз ", "два"], False), ([], True), (["раз"], True), ([], False)]):
        async with a_workflow_world(tmp_path / str(number), document) as world:
            assert await _play_unset(world, *pieces, fails=fails) == f"{''.join(pieces)}|None|None"


@pytest.mark.req("S003-43", "G3")
async def test_the_null_of_a_callback_comes_from_the_answer(tmp_path: Path) -> None:
    """Whether it gave something was decided by what strangers wrote: a change that follows from that asks and says so."""
    read = {"runeType": "query", "method": "crm.deal.get", "params": {"id": 481}, "output": "deal"}
    change = {"runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS"}
    only = tuum(
        "only",
        put("mark", "да"),
        {**change, "modifyValue": "Пусто: {{mark}} {{seen}}"},
        promptRunes=[read, prompt("{{deal.TITLE}}")],
        aiService="tool",
        isStreaming=True,
        chunkCallback=code("1 / 0", consumes="ai_stream_output_added", produces="seen"),
    )
    async with a_workflow_world(tmp_path, workflow(only)) as world:
        Stream(world, ["раз"])
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        assert "gate-taint-prose" in {one["code"] for one in card.body["reasons"]}


@pytest.mark.req("S003-46", "S003-A7", "S003-X5")
async def test_after_a_model_that_gave_no_answer_only_the_main_script_runs(tmp_path: Path) -> None:
    """Runes propose nothing out of an answer that never came. What they would have made is null for the script, and is not published."""
    change = {"runeType": "operation", "operationType": "ModifyEntity", "entityType": "deal", "entityId": "481", "attributeKey": "COMMENTS"}
    take = {"runeType": "text", "input": "ai_final_output", "before": "!", "output": "comment"}
    main = '{"said": f"{comment}|{mark}|{kept}|{bool(ai_error)}", "own": own}'
    only = tuum(
        "only",
        take,
        put("mark", "x"),
        put("own", "x"),
        put("kept", "new"),
        {**change, "modifyValue": "{{comment}}"},
        promptRunes=[prompt("Напиши"), put("kept", "old")],
        aiService="tool",
        mainScript=code(main, consumes="comment mark own kept ai_error", produces="said own"),
        outputMappings={"said": "said", "mark": "mark", "own": "own", "kept": "kept"},
    )
    for number, fails in enumerate((True, False)):
        async with a_workflow_world(tmp_path / str(number), workflow(only)) as world:
            Stream(world, ["да!"], fails=fails)
            await world.work(start())
            assert len([row for row in world.outbox() if row.kind == "card"]) == (0 if fails else 1)
            if fails:
                assert result(world)["globals"] == {"said": "None|None|old|True", "own": None, "kept": "old"}
                assert result(world)["operations"] == []
