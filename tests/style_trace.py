"""Drives one typed sentence through the product in this process and prints, as JSON, which shipped files it enters.

Run by `tests.style` with the kits of the unit tests on the path. The Telegram wire, the portal and the model service are scripted;
everything between is the product: the update is stored, worked, and its card delivered.
"""

import asyncio
import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from types import CodeType, FrameType
from typing import Any

import httpx
from pydantic import SecretStr

from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.model_client.settings import ModelSettings
from tests.unit.bot.telegram.door_kit import ANNA, Wire, opened_door, raw_message
from tests.unit.spine_kit import MODEL_KEY, World, a_world, raise_sum, reply, until

SENTENCE = "подними сумму сделки Ромашка до 150 000"
ENGINE = ("engines/crm_agent/core/engine.py", "orchestrator/engines/crm_agent/engine.py")
"""Where it lies, and lay in older trees."""
SHIPPED = ("bot", "orchestrator", "engines", "bitrix", "state")
"""Told here, too: an older tree that is traced has no `tests.style_sources`."""
LAIN = {
    "bot/composition": "bot",
    "bot/policy": "bot",
    "bot/settings": "bot",
    "engines/crm_agent/core": "orchestrator/engines/crm_agent",
    "engines/crm_agent/turn_face.py": "bot",
    "engines/flows/core": "orchestrator/engines/flows",
    "engines/flows/http": "bot/http_api/flows",
    "engines/flows/playing.py": "orchestrator/rehearsals",
    "engines/flows/recording.py": "orchestrator/rehearsals",
    "engines/flows/terminal": "bot/cli/flow",
    "engines/flows/wiring.py": "bot",
    "engines/scenarios/core": "orchestrator/engines/scenarios",
    "engines/scenarios/log_file.py": "bot/monitoring",
    "engines/scenarios/playing.py": "orchestrator/rehearsals",
    "engines/scenarios/recording.py": "orchestrator/rehearsals",
    "engines/scenarios/terminal": "bot/cli/scenario",
    "engines/scenarios/wiring.py": "bot",
    "engines/tool_agent/core": "orchestrator/engines/tool_agent",
    "engines/tool_agent/terminal.py": "bot/cli",
    "engines/tool_agent/turn_face.py": "bot",
    "engines/workflows/core": "orchestrator/engines/workflows",
    "engines/workflows/playing.py": "orchestrator/rehearsals",
    "engines/workflows/recording.py": "orchestrator/rehearsals",
    "engines/workflows/terminal": "bot/cli/workflow",
    "engines/workflows/wiring.py": "bot",
    "orchestrator/engines/crm_agent/agent_texts.py": "bot",
    "orchestrator/gate/preview": "orchestrator/gate/approve",
    "orchestrator/gate/undo": "orchestrator/gate/approve",
    "orchestrator/sessions": "orchestrator/runtime",
    "orchestrator/turns": "orchestrator/runtime",
    "state/model": "state",
}
"""The map of before: where folders and files of today, with all in them, lay on 28 November 2026 (commit 579ea91f).

Calls are counted between the folders of that day, so that moving alone changes no figure; what is new counts where it lies.
"""
QUIET = 0.2
"""Seconds without a request after which the delivery has marked what it sent."""


@dataclass
class Tracer:
    """A profile function that counts calls while `active`: per file, and from one folder to another."""

    root: Path
    active: bool = False
    files: Counter[str] = field(default_factory=Counter)
    moves: Counter[str] = field(default_factory=Counter)
    before_engine: dict[str, int] = field(default_factory=dict)
    """How many files and moves there were when the sentence entered the folder of the engine; empty until then."""
    _known: dict[CodeType, str] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """As `sys.setprofile` wants it."""
        del argument
        if not self.active or event != "call" or not (path := self._path_of(frame)) or _is_resumed(frame):
            return
        if path.startswith(ENGINE) and not self.before_engine:
            self.before_engine = {"files": len(self.files), "moves": self.moves.total()}
        self.files[path] += 1
        caller = frame.f_back
        while caller is not None and not self._path_of(caller):
            caller = caller.f_back
        if caller is not None:
            here, there = (find_old_folder(name) for name in (self._path_of(caller), path))
            self.moves[f"{here} -> {there}"] += here != there

    def _path_of(self, frame: FrameType) -> str:
        """The shipped file of a function, relative to the root; "" for other code and for the body of a module."""
        code = frame.f_code
        if code not in self._known:
            file = Path(code.co_filename)
            path = file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else ""
            self._known[code] = path if path.partition("/")[0] in SHIPPED and code.co_name != "<module>" else ""
        return self._known[code]


def find_old_folder(path: str) -> str:
    """The folder of a file by the map of before."""
    parents = [parent.as_posix() for parent in PurePosixPath(path).parents][:-1]
    for at, place in enumerate([path, *parents]):
        if place in LAIN:
            return "/".join([LAIN[place], *(PurePosixPath(parent).name for parent in reversed(parents[: max(0, at - 1)]))])
    return parents[0]


def _is_resumed(frame: FrameType) -> bool:
    """Whether a generator or coroutine goes on, rather than being entered: the argument of its RESUME instruction is not 0."""
    return frame.f_code.co_code[frame.f_lasti + 1] != 0


def _answers() -> Iterator[str]:
    """What the model says: a plain greeting, then a change of the sum of the deal by its name."""
    yield reply(text="Здравствуйте.")
    yield reply(raise_sum(150_000, "@deal:Ромашка"), text="Поднимаю сумму.")  # type: ignore[arg-type]


def _as_stream(text: str) -> httpx.Response:
    """An answer of the model service as a stream of events."""
    choices: list[Any] = [{"index": 0, "delta": {"content": text[at : at + 40]}} for at in range(0, len(text), 40)]
    events: list[Any] = [{"choices": [choice]} for choice in [*choices, {"index": 0, "delta": {}, "finish_reason": "stop"}]]
    usage = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}
    lines = [json.dumps({"model": "scripted", **event}) for event in [*events, usage]]
    body = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
    return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, text=body)


@asynccontextmanager
async def _driven() -> AsyncIterator[World]:
    """The product in mode full, its model client over a scripted service; the deal's sum is 120 000."""
    with tempfile.TemporaryDirectory() as folder:
        async with a_world(Path(folder)) as world:
            world.portal.records["deal", 481]["OPPORTUNITY"] = "120000.00"
            answers = _answers()
            transport = httpx.MockTransport(lambda _: _as_stream(next(answers)))
            client = ModelClient(ModelSettings(api_key=SecretStr(MODEL_KEY)), transport=transport)
            world.orchestrator.tools = replace(world.orchestrator.tools, model=ModelRouter.from_client(client))
            try:
                yield world
            finally:
                await client.aclose()


async def _shown(wire: Wire, part: str) -> None:
    """Wait until something with this in it was sent and nothing more follows."""
    await until(lambda: any(part in json.dumps(sent, ensure_ascii=False, default=str) for sent in wire.sent))
    count = -1
    while count != len(wire.sent):
        count = len(wire.sent)
        await asyncio.sleep(QUIET)


async def trace_sentence(tracer: Tracer) -> None:
    """Send a greeting, so that what is made once is made; then the sentence, traced until its card is shown."""
    async with _driven() as world, opened_door(world) as (door, wire), world.working():
        await door._intake.take({"update_id": 5, "message": raw_message("привет", sender=ANNA)})
        await _shown(wire, "Здравствуйте.")
        tracer.active = True
        await door._intake.take({"update_id": 6, "message": raw_message(SENTENCE, sender=ANNA, message_id=101)})
        await _shown(wire, "inline_keyboard")
        tracer.active = False


def main(root: Path) -> int:
    """Print {"files": {path: calls}, "moves": {"from -> to": calls}, "before_engine": {"files": n, "moves": n}}; the code is not 0 where no card came."""
    tracer = Tracer(root.resolve())
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        asyncio.run(trace_sentence(tracer))
    finally:
        sys.setprofile(None)
    moves = {label: count for label, count in tracer.moves.items() if count}
    sys.stdout.write(
        json.dumps({"files": dict(tracer.files), "moves": moves, "before_engine": tracer.before_engine}, ensure_ascii=False) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
