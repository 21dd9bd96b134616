"""The person of the lab's runs: answers what is on the screen by the rules of a way (`lab_runs`). Imported by the child only.

Each thing that is done has a name made of what it answers, so that a death in the middle does nothing twice on the person's side: what was
not acknowledged is handed in once more, word for word, as a messenger does.
"""

import asyncio
import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

from state.journal.run_index import RunFilter, RunRow
from state.journal.store import InboxRow, Store
from state.model.run_state import ENDED
from tests.crash.lab_person import FAR, MOMENT, PAUSE, Person, Told
from tests.crash.lab_runs import ALL_WAYS, Way
from tests.crash.lab_script import SESSION
from tests.unit.engines.flows.acting_flow import find_question

MOST_JUMPS = 12
MOST_SECONDS = 25.0
MOST_WAITED = 100.0
MOST_INPUTS = 40
"""Where a planted fault lets a run ask for ever, its person gives up after so many seconds of work or of waiting, or so many inputs.

On a busy machine the same work waits for long; a person who gives up because of that would make a run look as if it was forgotten.
"""
PATIENCE = 12.0
"""Seconds without anything new after which a process that shares its work no longer waits for the runs to end."""
LIST, CANCEL, TAKES = "cancel/list", "cancel/click", "portal/takes"
GAVE_UP = "gave-up:"
"""How the keys of replies begin that say of an input that it was given up; its id follows."""


class SharedTold(Told):
    """What the person saw, written by two processes into one file."""

    def __init__(self, path: Path, generation: int) -> None:
        """`generation` is the number of the process."""
        super().__init__(path, generation)
        self._read = path.stat().st_size if path.exists() else 0

    def refresh(self) -> None:
        """Take in what the other process has written."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            found = file.read()
        whole = found[: found.rfind(b"\n") + 1]
        self._read += len(whole)
        self.lines += [one for one in map(json.loads, whole.splitlines()) if one["generation"] != self.generation]


class RunPerson(Person):
    """Starts the runs of a way and answers whatever they ask, until all of them are over."""

    def __init__(self, *given: Any, config: Mapping[str, Any]) -> None:
        """`config` may say by which name this process shares the work with another one (`shared`), and which file says that it died (`alone`).

        By `late` seconds every decision comes later than it could.
        """
        super().__init__(*given, config=config)
        self._way: Way = ALL_WAYS[config["script"]]
        self._name = str(config.get("shared", ""))
        self._alone = Path(config.get("alone", ""))
        self._late = float(config.get("late", 0.0))
        self._patience = 2 * float(config.get("lease", 0.0))
        self._jumps = 0
        self._reached = False

    async def live(self) -> None:
        """Act until nothing is left to do, and read what came last: the runs are over, or nothing will ever happen again."""
        await self._act_to_the_end()
        while await self._deliver():
            pass

    async def _act_to_the_end(self) -> None:
        self._clock.ahead += timedelta(seconds=self._told.passed())
        await self._set_up()
        for row in self._list_unacknowledged():
            await self._hand_in(row)
        since = begun = time.monotonic()
        while not self._gives_up(begun):
            if isinstance(self._told, SharedTold):
                self._told.refresh()
            if await self._deliver() or await self._act():
                since = time.monotonic()
                continue
            if await self._busy():
                await asyncio.sleep(PAUSE)
            elif await self._is_over() or not await self._wait_on(time.monotonic() - since):
                return

    def _gives_up(self, begun: float) -> bool:
        """Whether the person waits no longer; that is told, so that nobody takes it for a lost wake-up."""
        is_late = time.process_time() > MOST_SECONDS or time.monotonic() > begun + MOST_WAITED
        if is_late:
            self._told.add("gave_up", seconds=time.monotonic() - begun)
        return is_late or len(self._list_offered()) > MOST_INPUTS

    async def _wait_on(self, rested: float) -> bool:
        """Wait for what comes by its time, or from the process that shares the work; whether anything may still come.

        While both live, neither clock is put forward. Of a process that died the lease is really waited for; after that the other one may.
        """
        is_alone = not self._name or self._alone.is_file()
        if self._name and rested < (self._patience if is_alone else PATIENCE):
            await asyncio.sleep(10 * PAUSE)
            return True
        return is_alone and await self._pass_time()

    async def _set_up(self) -> None:
        if self._way.refuses and not self._told.acknowledged(TAKES):
            await self.ask_world("change", refuse=self._way.refuses)
        if self._way.cancels == "held" and not self._told.acknowledged(CANCEL):
            await self.ask_world("hold", names="completions")

    async def _deliver(self) -> bool:
        """Read the messages that are due; whether there were any."""
        rows = await self._due(timedelta())
        for row in rows:
            ref = str(crc32((row.key or row.id).encode()))
            self._told.add(row.kind, key=row.key, body=dict(row.body), session=row.session, row=row.id, ref=ref)
            await self._known(self._store.mark_outbox_sent, row.id, ref)
        return bool(rows)

    async def _act(self) -> bool:
        """Hand in everything that is to be done now; whether there was any."""
        rows = [row for row in self._list_wishes() if not self._is_offered(row.source)]
        if any(row.source.startswith("words/") for row in rows) and await self._busy():
            return False  # nobody types so fast that the chat does not know yet that it was asked
        if rows and self._put_off(rows[0]):
            return True
        for row in rows:
            await self._prepare_portal(row.source)
            await self._hand_in(row)
        if rows:
            return True
        if self._way.cancels == "held":
            return await self._hold_on()
        return False

    def _put_off(self, row: InboxRow) -> bool:
        """Whether time passes before this decision, once for each."""
        source = f"late/{row.source}"
        if not self._late or row.kind != "press" or self._told.acknowledged(source):
            return False
        self._clock.ahead += timedelta(seconds=self._late)
        self._told.add("happened", source=source, seconds=self._late)
        return True

    async def _hold_on(self) -> bool:
        """Keep the model waiting till the cancellation was handed in, then let it go."""
        if not self._reached:
            await self.ask_world("reached")
            self._reached = True
            return True
        if self._told.acknowledged(CANCEL) and not self._told.acknowledged("cancel/released"):
            await asyncio.sleep(MOMENT)
            await self.ask_world("release")
            self._told.add("happened", source="cancel/released", seconds=0.0)
            return True
        return False

    async def _prepare_portal(self, source: str) -> None:
        if self._way.refuses and source.startswith("retry/") and not self._told.acknowledged(TAKES):
            await self.ask_world("change", refuse="")
            self._told.add("happened", source=TAKES, seconds=0.0)

    async def _hand_in(self, row: InboxRow) -> None:
        if not self._is_offered(row.source):
            self._told.add("offered", source=row.source, id=row.id, input=asdict(row) | {"received_at": row.received_at.isoformat()})
        await self._known(self._orchestrator.receive, [row])
        self._told.add("acknowledged", source=row.source)
        if row.source.endswith(CANCEL):
            self._told.add("happened", source=CANCEL, seconds=0.0)

    def _list_offered(self) -> list[dict[str, Any]]:
        """Return what was handed in: by anybody before this process, or, where two share the work, by this one."""
        offered = [one for one in self._told.lines if one["kind"] == "offered"]
        return [one for one in offered if one["generation"] == self._told.generation] if self._name else offered

    def _is_offered(self, source: str) -> bool:
        return any(line["source"] == source for line in self._list_offered())

    def _list_unacknowledged(self) -> list[InboxRow]:
        """Return what was handed in before a death and not acknowledged."""
        offered = [one for one in self._list_offered() if not self._told.acknowledged(one["source"])]
        return [InboxRow(**{**one["input"], "received_at": datetime.fromisoformat(one["input"]["received_at"])}) for one in offered]

    async def _pass_time(self) -> bool:
        """Put the clock forward to the next thing that comes by its time; whether there was any, within reason."""
        now = self._clock.now()
        timers = await self._known(self._store.list_due_timers, now + FAR)
        moments = [one.due_at for one in timers] + [one.due_at for one in await self._due(FAR)]
        self._jumps += 1
        if not moments or self._jumps > MOST_JUMPS:
            return False
        seconds = max(0.0, (min(moments) - now).total_seconds()) + PAUSE
        self._clock.ahead += timedelta(seconds=seconds)  # real time: also marks of how long ago something was are that much older
        self._told.add("happened", source=f"time/{len(self._told.lines)}", seconds=seconds)
        return True

    async def _is_over(self) -> bool:
        if self._list_unacknowledged():
            return False
        rows: list[RunRow] = await self._known(self._store.list_runs, RunFilter(limit=100))
        wanted = sum(text.startswith("/") for text in self._way.starts)
        settled = {"done", "cancelled"} if self._way.retries else ENDED
        begun = [row for row in rows if not row.parent]
        return len(begun) >= wanted and all(row.status in settled for row in begun) and all(row.status in ENDED for row in rows)

    def _list_wishes(self) -> Iterator[InboxRow]:
        """What the person would do now, in order; what was done already among it."""
        for number, text in enumerate(self._way.starts):
            name, _, rest = text.removeprefix("/").partition(" ")
            said = {"text": text, "origin": "typed"}
            start = ("command", {"name": name, "args": rest}) if text.startswith("/") else ("message", said)
            yield self._input(start[0], f"start-{number}/message", start[1])
        seen = {line["key"] or line["row"]: line for line in self._told.lines if line["kind"] in {"card", "reply"}}
        shown = list(seen.values())
        for line in shown:
            yield from self._answer_card(line["body"]) if line["kind"] == "card" else self._answer_reply(line)
        if self._way.cancels and self._is_time_to_cancel(shown):
            yield self._input("command", LIST, {"name": "runs", "args": ""})

    def _is_time_to_cancel(self, shown: list[dict[str, Any]]) -> bool:
        if self._way.cancels == "held":
            return self._reached
        questions = sum(any(one["words"][-1].isdecimal() for one in line["body"]["actions"]) for line in shown if line["kind"] == "reply")
        cards = sum(line["kind"] == "card" for line in shown)
        return questions + cards >= int(self._way.cancels) or self._told.acknowledged(CANCEL)

    def _answer_card(self, body: Mapping[str, Any]) -> Iterator[InboxRow]:
        """The presses on a card, some of them only once something else has happened."""
        text = re.sub(r"\s", "", json.dumps(body, ensure_ascii=False))  # sums are shown in groups of digits
        rule = next((presses for mark, presses in self._way.cards.items() if mark in text), "")
        when, _, presses = rule.rpartition(" ")
        expired = any(line["kind"] == "card" and line["body"]["status"] == "expired" for line in self._told.lines)
        if (when == "expired" and not expired) or body["status"] != ("denied" if when == "cancelled" else "requested"):
            return
        for number, verdict in enumerate(presses):
            source = f"{self._name}press-{number}/{body['confirmation_id']}"
            press = self._press(source, body, "approve" if verdict == "y" else "deny")
            yield replace(press, session=body.get("home") or SESSION)

    def _answer_reply(self, line: Mapping[str, Any]) -> Iterator[InboxRow]:
        """The buttons and words in answer to a message of a run."""
        if line["key"].startswith(GAVE_UP):
            yield from self._press_again(line["key"].removeprefix(GAVE_UP))
            return
        text = "".join(part.get("text", "") for part in line["body"]["parts"])
        rule = self._way.answers.get(text, "")
        if rule.startswith("="):
            yield self._input("message", f"words/{line['key']}/message", {"text": rule[1:], "origin": "typed"})
            return
        for action in line["body"]["actions"]:
            words = action["words"]
            if words[0] != "run":
                continue
            if words[-1] == "retry" and self._way.retries:
                yield self._click(f"retry/{line['row']}", words)
            if words[-1] == "cancel" and self._way.starts[0].endswith(f" {action['label']['args'].get('definition')}"):
                yield self._click(f"{self._name}{CANCEL}", words)
            if words[-1] == "resume":
                yield self._click(f"resume/{line['row']}", words)
        yield from self._answer_question(line, text, rule)

    def _press_again(self, row_id: str) -> Iterator[InboxRow]:
        """Who reads that a press was given up, because three processes died while it was at work, presses once more."""
        for one in self._list_offered():
            if one["id"] == row_id and one["input"]["kind"] in {"press", "decision"}:
                again = f"again/{one['source']}"
                yield self._input(
                    one["input"]["kind"], again, {**one["input"]["body"], "callback_id": again}, session=one["input"]["session"]
                )

    def _answer_question(self, line: Mapping[str, Any], text: str, rule: str) -> Iterator[InboxRow]:
        found = [one["words"] for one in line["body"]["actions"]]  # run, id, question, option
        buttons = {words[3]: words for words in found if len(words) == 4 and words[3].isdecimal()}
        if not buttons:
            return
        if text == self._way.pauses and text:
            words = next(iter(buttons.values()))
            yield self._click(f"pause/{words[2]}", [*words[:2], "pause"])
            if not any(one["kind"] == "acknowledged" and one["source"].startswith("resume/") for one in self._told.lines):
                return
        for number, option in enumerate(rule.split()):
            yield self._click(f"{self._name}option-{number}/{buttons[option][2]}", buttons[option])

    def _click(self, source: str, words: list[str]) -> InboxRow:
        return self._input("press", source, {"words": words, "callback_id": source, "message_id": 1})


def list_answered(store: Store) -> list[str]:
    """Return the prompts of runs whose answers the journal holds."""
    streams = [stream for stream in store.list_streams() if stream.startswith("run:")]
    events = [event for stream in streams for event in store.read_events(stream, limit=10_000)]
    return [find_question(event.data["output"]) for event in events if event.type == "NodeDone" and event.data.get("kind") == "model"]


def inspect_runs(store: Any) -> dict[str, Any]:
    """Return the index of runs and every input, for the judgement of the end."""
    with store._database.read() as transaction:
        inputs = list(transaction._cursor.execute("SELECT id, source, status FROM inbox ORDER BY pos").fetchall())
    return {"index": [row._asdict() for row in store.list_runs(RunFilter(limit=100))], "inbox": [list(row) for row in inputs]}
