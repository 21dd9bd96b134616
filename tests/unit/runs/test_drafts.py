"""What a run shows while a model answers: another model's answer begins anew, and does not go on after the first one's."""

from types import SimpleNamespace
from typing import Any, cast

from orchestrator.runs.run_pass import Drafts
from orchestrator.turns.feature import Tools


async def test_the_answer_of_another_model_replaces_what_was_shown() -> None:
    """The provider died in the middle of its answer."""
    shown: list[Any] = []

    async def show_partial(_home: str, notice: Any) -> None:
        shown.append(notice.args.get("said"))

    tools = SimpleNamespace(progress=SimpleNamespace(show_draft=lambda *_: None), show_partial=show_partial)
    streamer = Drafts("r1", "tg:1", cast("Tools", tools), locale="ru").build_streamer("ask")
    for piece in ("Скидка ", "возмож"):
        await streamer.show_delta(piece)
    await streamer.begin_anew()
    await streamer.show_delta("Скидки нет.")
    assert shown == ["Скидка ", "Скидка возмож", "Скидки нет."]
