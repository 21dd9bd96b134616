"""The person of a child, with the door and the clock that belong to it. Imported by the child only."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zlib import crc32

import httpx

from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.runtime.worker import Orchestrator
from state.clock import generate_id, measure_mark_age, read_boottime
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, OutboxRow, StoreError
from tests.crash.lab_go_on import FLOWS
from tests.crash.lab_hands import acted, made_by
from tests.crash.lab_people import ACTOR, OTHERS
from tests.crash.lab_script import SESSION, Step

PAUSE = 0.002
MOMENT = 0.03
FAR = timedelta(days=3)
SMALL = 2**24
HOLDING = {"meanwhile": "crm.deal.update", "overtaken": "crm.deal.get", "overtaking": "crm.deal.update"}
"""Which requests are held on their way till the other inputs of such a step are handed in."""
TRIES = 40
"""How often something is tried that is not waited for."""


class LabClock:
    """The machine's clock, which can be put forward or back: from within, or by a file while the process is stopped."""

    def __init__(self, ahead: float, file: Path) -> None:
        self.ahead = timedelta(seconds=ahead)
        self._set = timedelta()
        self._file = file

    def now(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC) + self.ahead + self._set + timedelta(seconds=self._slept())

    def mark(self) -> str:
        """The time that really passes in the lab, however the clock is set."""
        return f"lab {self._elapsed():.3f}"

    def measure_since(self, mark: str) -> timedelta | None:
        """The difference; the lab is one machine."""
        return measure_mark_age(mark, "lab", self._elapsed())

    def _elapsed(self) -> float:
        return read_boottime() + self.ahead.total_seconds() + self._slept()

    def _slept(self) -> float:
        return float(self._file.read_text(encoding="utf-8")) if self._file.exists() else 0.0

    def jump(self, seconds: float) -> None:
        """Put it forward, or back."""
        self._set += timedelta(seconds=seconds)


class Told:
    """What a person saw and what a door acknowledged: lines that outlive the process before anything goes on."""

    def __init__(self, path: Path, generation: int, mark: Callable[[str], None] = lambda _: None) -> None:
        """`mark` is told of what was acknowledged, to be put into the order of the calls."""
        self._path = path
        self.generation = generation
        self._mark = mark
        self.lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def add(self, kind: str, **body: Any) -> None:
        """One line, written at once."""
        line = {"kind": kind, "generation": self.generation, **body}
        self.lines.append(line)
        with self._path.open("ab", buffering=0) as file:
            file.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
        if kind in {"acknowledged", "card", "reply", "toast"}:
            self._mark(f"told {kind}")

    def acknowledged(self, source: str) -> bool:
        """Whether the door told the messenger that it has this input (or, of what is no input, that it has happened)."""
        return any(line["kind"] in {"acknowledged", "happened"} and line["source"] == source for line in self.lines)

    def passed(self) -> float:
        """Seconds that have passed by the script."""
        return sum(float(line["seconds"]) for line in self.lines if line["kind"] == "happened")

    def of(self, name: str, kind: str) -> list[dict[str, Any]]:
        """What was shown of that kind, in that part of the script."""
        own = self.own(name)
        shown = [line["body"] for line in self.lines if line["kind"] == kind and "home" not in line["body"]]
        return [body for body in shown if str(body.get("turn_id")).partition("+")[0] in own]

    def own(self, name: str) -> set[str]:
        """The numbers of what was handed in in that part of the script."""
        return {line["id"] for line in self.lines if line["kind"] == "offered" and line["source"].startswith(f"{name}/")}

    def cards(self, name: str) -> list[dict[str, Any]]:
        """The cards of that part of the script as the person sees them now."""
        return list({body["confirmation_id"]: body for body in self.of(name, "card")}.values())


class Person:
    """Writes, reads and presses, one thing after the other; offers again what was not acknowledged."""

    def __init__(self, orchestrator: Orchestrator, store: AsyncStore, told: Told, clock: LabClock, *, config: Mapping[str, Any]) -> None:
        self._orchestrator = orchestrator
        self._store = store
        self._told = told
        self._clock = clock
        self._world = f"http://127.0.0.1:{config['port']}/lab/"
        self._state = Path(config.get("state") or config["folder"])
        self._script = str(config.get("script"))
        self._left = int(config.get("left", 0))
        self._meets = bool(config.get("meets"))
        """Whether the second of two inputs is handed in once the world holds a request of the first, not after a moment."""

    async def act(self, steps: tuple[Step, ...]) -> None:
        """Everything of the script that was not done yet."""
        self._clock.jump(self._told.passed())
        await self.rest()
        for step in self._left_of(steps) if self._script in FLOWS else steps:
            if step.kind in {"later", "portal", "fill", "free"}:
                await self._happens(step)
            elif step.kind == "tried":
                await self._tried(step)
            else:
                await self._said(step)

    def _left_of(self, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        """From the last step on that was begun: what went before is over, whatever looks by now as if it could be done once more."""
        seen = {"/".join(line["source"].split("/")[:2]) for line in self._told.lines if line["kind"] in {"offered", "happened"}}
        seen |= {source.rstrip("0123456789").removesuffix("-") for source in seen}
        begun = [number for number, step in enumerate(steps) if seen.intersection(step.sources)]
        return steps[begun[-1] :] if begun else steps

    async def rest(self) -> None:
        """Until nothing is left to work on and everything was told."""
        while True:
            while await self._busy():  # noqa: ASYNC110 - rest is seen in the store, which fires no event of ours
                await asyncio.sleep(PAUSE)
            rows = await self._due(timedelta())
            if not rows and (waiting := await self._due(FAR)):  # the clock has gone back: time passes until they are due
                self._clock.jump((min(row.due_at for row in waiting) - self._clock.now()).total_seconds() + PAUSE)
                continue
            if not rows:
                return
            for row in rows:
                await self._deliver(row)

    async def _deliver(self, row: OutboxRow) -> None:
        ref = str(crc32((row.key or row.id).encode()))
        self._told.add(row.kind, key=row.key, body=dict(row.body), session=row.session, row=row.id, ref=ref)
        await self._known(self._store.mark_outbox_sent, row.id, ref)

    async def _due(self, ahead: timedelta) -> list[OutboxRow]:
        return list(await self._known(self._store.list_due_outbox, "tg", self._clock.now() + ahead))

    async def ask_world(self, what: str, **body: Any) -> None:
        """Have something done outside."""
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(verify=False), timeout=20) as http:
            await http.post(self._world + what, json=body)

    async def press_while_recovering(self) -> None:
        """Every card once more while the portal is being looked at."""
        await self.ask_world("reached")
        names = {line["source"].partition("/")[0] for line in self._told.lines if line["kind"] == "offered"}
        rows = [row for name in sorted(names) for row in self._rows(Step(sources=(f"{name}/press-recovering",), kind="again"))]
        await self._offer(rows)
        await asyncio.sleep(MOMENT)
        await self.ask_world("release")

    async def _said(self, step: Step) -> None:
        handed_in = self._rows(step)
        if step.kind == "redelivered":
            await self._known(self._orchestrator.receive, handed_in)
            await self.rest()
        elif step.kind in {"presses", "stopped", *HOLDING}:
            if step.kind in HOLDING:
                await self.ask_world("hold", names=HOLDING[step.kind])
            for number, rows in enumerate(handed_in_parts(handed_in, step)):
                if number:
                    await (self.ask_world("reached") if step.kind in HOLDING or self._meets else asyncio.sleep(MOMENT))
                await self._offer(rows)
            if step.kind in HOLDING:
                await asyncio.sleep(MOMENT)
                await self.ask_world("release")
            await self.rest()
        elif await self._offer(handed_in):
            await self.rest()

    async def _offer(self, offered: Sequence[InboxRow]) -> bool:
        """Hand in what is not acknowledged yet, as often as it takes; whether there was anything."""
        rows = [row for row in offered if not self._told.acknowledged(row.source)]
        if not rows:
            return False
        for row in rows:
            self._told.add("offered", source=row.source, id=row.id)
            if made := made_by(row):
                self._told.add("offered", source=f"{row.source}/made", id=made)
        await self._known(self._orchestrator.receive, rows)
        for row in rows:
            self._told.add("acknowledged", source=row.source)
        return True

    async def _tried(self, step: Step) -> None:
        """Hand in on a full disk; a while later go on, whatever came of it."""
        rows = [row for row in self._rows(step) if not self._told.acknowledged(row.source)]
        for row in rows:
            self._told.add("offered", source=row.source, id=row.id)
        for _ in range(TRIES):
            try:
                await self._orchestrator.receive(rows)
            except StoreError:
                self._told.add("turned-away", sources=[row.source for row in rows])
            else:
                for row in rows:
                    self._told.add("acknowledged", source=row.source)
                break
            await asyncio.sleep(PAUSE)
        await asyncio.sleep(5 * MOMENT)

    async def _happens(self, step: Step) -> None:
        """What is no input."""
        (source,) = step.sources
        ballast = self._state / "ballast"
        if self._told.acknowledged(source):
            return
        match step.kind:
            case "later":
                self._clock.jump(float(step.text))
            case "portal":
                await self.ask_world("change", **json.loads(step.text))
            case "fill":
                fill(ballast, self._left)
            case _:
                await self.ask_world("noted")
                ballast.unlink(missing_ok=True)
        self._told.add("happened", source=source, seconds=float(step.text) if step.kind == "later" else 0.0)
        await self.rest() if step.kind != "fill" else None

    async def _known(self, ask: Callable[..., Any], *given: Any) -> Any:
        """The answer of the store, asked until the disk gives one."""
        while True:
            try:
                return await ask(*given)
            except StoreError as error:
                self._told.add("turned-away", sources=[], why=str(error))
                await asyncio.sleep(5 * PAUSE)

    async def _busy(self) -> bool:
        """Whether anything is at work or due. In this order: a timer that is due becomes an input, and is deleted only with what comes of it."""
        return bool(await self._known(self._store.list_due_timers, self._clock.now())) or not await self._known(self._orchestrator.is_idle)

    def _rows(self, step: Step) -> list[InboxRow]:
        """The inputs of a step."""
        first = step.sources[0]
        name = first.partition("/")[0]
        match step.kind:
            case "message":
                return [self._message(source, text) for source, text in zip(step.sources, step.text.split("\0"), strict=True)]
            case "voice":
                recording = {"file_id": step.text, "seconds": 3, "size": len(step.text), "forwarded": False, "message_id": 1}
                return [self._input("voice", first, recording)]
            case "tried" if step.text != "approve":
                return [self._message(first, step.text)]
            case "stopped":
                stop = self._input("command", step.sources[1], {"name": "stop"})
                return [self._message(first, step.text), replace(stop, received_at=stop.received_at + timedelta(seconds=MOMENT))]
            case "choose":
                return [self._chosen(step, name)]
            case "forwarded" | "value" | "reason" | "button" | "overtaken" | "overtaking":
                return self._acted(step, name)
            case "event":
                return [self._event(source, int(step.text)) for source in step.sources]
            case "presses" | "meanwhile":
                return [row for card in self._waiting(name, first) for row in self._pattern(step, card)]
            case "redelivered":
                return self._redelivered(name, first)
            case _:
                return self._presses(step, name)

    def _presses(self, step: Step, name: str) -> list[InboxRow]:
        """One press on every card, or on one of the steps that each card shows."""
        if step.kind == "apart":
            at, source = (-1 if step.text == "deny" else 0), step.sources[0]
            members = [card["members"][at] for card in self._waiting(name, source) if "members" in card]
            return [self._press(f"{source}/{card['confirmation_id']}", card, step.text) for card in members]
        return [
            self._press(f"{source}/{card['confirmation_id']}", card, step.kind)
            for source in step.sources
            for card in self._told.cards(name)
            if step.kind == "again" or card["status"] == "requested"
        ]

    def _acted(self, step: Step, name: str) -> list[InboxRow]:
        """What features are asked for; of a value and a press on the old card in the order in which they are handed in."""
        if step.kind not in {"overtaken", "overtaking"}:
            return acted(step, name, self._told.lines, self._told.own(name), self._input)
        value, old = self._acted(replace(step, kind="value"), name), self._told.cards(name)[0]
        press = self._press(f"{step.sources[1]}/{old['confirmation_id']}", old, "approve")
        return [*value, press] if step.kind == "overtaken" else [press, *value]

    def _chosen(self, step: Step, name: str) -> InboxRow:
        """The answer to the question that was asked."""
        options = next(body["choices"] for body in self._told.of(name, "reply") if body["choices"])
        number = len(options) - 1 if step.text == "last" else 0
        question = options[number]["token"].partition(":")[0]
        return self._input("message", step.sources[0], {"answers": question, "option": number, "origin": "choice"})

    def _waiting(self, name: str, source: str) -> list[dict[str, Any]]:
        """The cards to press: those that wait, and those of which a press was handed in before a death."""
        begun = {line["source"].rpartition("/")[2] for line in self._told.lines if line["kind"] == "offered" and source in line["source"]}
        late = source.endswith("-late")
        return [card for card in self._told.cards(name) if late or card["status"] == "requested" or card["confirmation_id"] in begun]

    def _pattern(self, step: Step, card: Mapping[str, Any]) -> list[InboxRow]:
        rows: list[InboxRow] = []
        for number, token in enumerate(step.text.replace(";", " ").split()):
            verdict, _, who = token.partition("@")
            if verdict == "=":
                rows.append(self._press(rows[-1].source, card, "approve"))
                continue
            source = f"{step.sources[0]}-{number}/{card['confirmation_id']}"
            shown = {**card, "nonce": "00000000"} if who == "forged" else card
            rows.append(self._press(source, shown, "approve" if verdict == "y" else "deny", who=who))
        return rows

    def _redelivered(self, name: str, source: str) -> list[InboxRow]:
        """Every press of before, with the very same source: they are known, so nothing is acknowledged anew and nothing comes of them."""
        cards = {card["confirmation_id"]: card for card in self._told.cards(name)}
        pressed = dict.fromkeys(
            line["source"] for line in self._told.lines if line["kind"] == "offered" and f"{name}/press" in line["source"]
        )
        rows = [self._press(known, cards[known.rpartition("/")[2]], "approve") for known in pressed]
        self._told.add("redelivered", source=source, count=len(rows))
        return rows

    def _press(self, source: str, card: Mapping[str, Any], kind: str, *, who: str = "") -> InboxRow:
        nonce = calculate_second_nonce(card["nonce"]) if card["taps"] > 1 else card["nonce"]
        via = "typed" if kind == "typed" else "button"
        press = {"confirmation_id": card["confirmation_id"], "nonce": nonce, "approve": kind != "deny", "via": via}
        elsewhere = f"tg:{who}" if who.isdecimal() else ""
        actor = Actor(key=elsewhere, name="Борис", bitrix_user_id=8) if elsewhere else OTHERS.get(who, ACTOR)
        body = press if via == "typed" else press | {"callback_id": source}
        return self._input("decision", source, body, session=elsewhere or SESSION, actor=actor)

    def _message(self, source: str, text: str) -> InboxRow:
        return self._input("message", source, {"text": text, "origin": "typed"})

    def _event(self, source: str, number: int) -> InboxRow:
        ts = 1_790_000_000 + crc32(source.encode()) % 1000
        body = {"event": "ONCRMDEALUPDATE", "target": f"deal:{number}", "action": "update", "ts": ts, "member_id": "m"}
        watched = self._orchestrator.tools.features.starts["portal_start"](self._clock.now()).session
        return self._input("portal_event", source, body, session=watched, actor=Actor(key="portal", name="portal"))

    def _input(self, kind: str, source: str, body: dict[str, Any], *, session: str = SESSION, actor: Actor = ACTOR) -> InboxRow:
        return InboxRow(
            id=generate_id(),
            source=source,
            session=session,
            lane="turn" if kind in {"message", "voice"} else "express",
            kind=kind,
            actor=actor.model_dump(mode="json"),
            body=body,
            received_at=self._clock.now(),
        )


def handed_in_parts(rows: Sequence[InboxRow], step: Step) -> list[list[InboxRow]]:
    """What is handed in at once, what after that: by the `;` of a pattern; of presses meanwhile, and of a stop, the first alone."""
    if step.kind != "presses":
        return [list(rows[:1]), list(rows[1:])]
    sizes = [len(part.split()) for part in step.text.split(";")]
    return [list(rows[sum(sizes[:number]) : sum(sizes[: number + 1])]) for number in range(len(sizes))]


def fill(ballast: Path, left: int) -> None:
    """Take all room of the disk but so many bytes; only of a small one that was mounted for it."""
    room = os.statvfs(ballast.parent)
    if room.f_blocks * room.f_frsize > SMALL:
        msg = "this disk is not the lab's to fill"
        raise RuntimeError(msg)
    with ballast.open("ab", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
        os.truncate(ballast, max(0, ballast.stat().st_size - left))
