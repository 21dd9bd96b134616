"""Kills the program at one commit of a run and lets another go on: what the suite "what every engine must survive" is made of."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.models import ModelAnswer, ToolCall
from orchestrator.domain.taint import Value
from state.clock import generate_id
from state.events.fold import list_open_confirmations
from state.journal.journal import load_state
from state.journal.run_index import RunFilter
from state.journal.store import Commit, InboxRow, StaleEpoch, StoredEvent, StoreUnwritable
from state.model.run_state import ENDED
from state.sql.store import SqlStore
from tests.unit.engines.flows.acting_flow import answer_question, find_question, name_question
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start
from tests.unit.spine_kit import ANNA, CHAT, NOW, Said, World, memory_store, message, press, until
from tests.unit.spine_portal import Portal

_WRITES = frozenset({"put_inbox", "take_inbox", "return_inbox", "finish_inbox", "acquire", "release", "set_value", "swap_value",
                     "mark_outbox_sent", "reschedule_outbox", "mark_outbox_failed"})  # fmt: skip
ROUNDS = 40
PIECE = 7
"""How many characters of an answer come at a time."""
OPERATIONS: list[dict[str, Any]] = [
    {"method": "crm.deal.update", "params": {"id": 481, "fields": {"OPPORTUNITY": 1200000}}, "comment": "Бюджет вырос"},
    {"method": "crm.deal.update", "params": {"id": 482, "fields": {"OPPORTUNITY": 90000}}},
]
"""What the agent of a flow proposes."""


class MortalStore:
    """A store whose program dies at one commit: from then on nothing that the program does is stored."""

    def __init__(self, store: SqlStore, *, dies_at: int | None = None, after: bool = False) -> None:
        """Die at the commit with this number, counted from 1; with `after` that commit itself is still stored."""
        self._store, self._dies_at, self._after = store, dies_at, after
        self.commits = 0
        self.is_dead = False

    def commit(self, commit: Commit) -> list[StoredEvent]:
        """Store the commit unless the program is dead."""
        self._check()
        if self.commits + 1 != self._dies_at:
            stored = self._store.commit(commit)
            self.commits += 1  # only now: a commit that met another one is refused and made again
            return stored
        self.is_dead = True
        if self._after:
            self._store.commit(commit)
        self.commits += 1
        raise StoreUnwritable("the program died")

    def commit_group(self, commits: Sequence[Commit]) -> list[list[StoredEvent]]:
        """Have them stored one by one, so that each is counted."""
        raise StaleEpoch(f"{len(commits)} commits are stored one by one")

    def close(self) -> None:
        """Stay open: the next program needs the database."""

    def __getattr__(self, name: str) -> Any:
        """Return the method of the store, which refuses to write once the program is dead."""
        found = getattr(self._store, name)
        if name not in _WRITES:
            return found

        def refuse_dead(*args: Any, **named: Any) -> Any:
            self._check()
            return found(*args, **named)

        return refuse_dead

    def _check(self) -> None:
        if self.is_dead:
            raise StoreUnwritable("the program is dead")


@dataclass
class Survival:
    """What became of one run whose program was killed: read by the assertions of the suite."""

    status: str
    commits: int
    """How many commits all programs made."""
    died: bool
    """Whether the program reached the commit at which it was to die."""
    asked: Counter[str]
    """How often the model was asked each prompt, over all programs."""
    asked_again: dict[str, int]
    """The prompts whose answer the journal held when the program died, and that were asked again, with how often."""
    writes: list[tuple[str, dict[str, Any]]]
    said: list[str]
    sql: SqlStore
    events: list[StoredEvent] = field(default_factory=list)


def do_nothing(_portal: Portal, _prompt: str) -> None:
    """Leave the portal as it is."""


async def survive(
    folder: Path,
    documents: Mapping[str, Any],
    definition: str,
    engine: str,
    *,
    dies_at: int | None = None,
    after: bool = False,
    args: Mapping[str, Value] | None = None,
    meanwhile: Callable[[Portal, str], None] = do_nothing,
) -> Survival:
    """Start the run, kill its program at a commit, let other programs go on with a person who answers, and return what became of it.

    `meanwhile` is what somebody does at the portal while the model answers a prompt.
    """
    sql, portal = memory_store(), Portal()
    asked: Counter[str] = Counter()
    said: dict[str, str] = {}
    died, commits = False, 0
    ordered = start(definition, engine=engine, **(args or {}))
    jump = timedelta()
    known: dict[str, int] = {}
    for _ in range(ROUNDS):
        mortal = MortalStore(sql, dies_at=dies_at - commits if dies_at is not None and not died else None, after=after)
        async with a_run_world(folder, documents, store=mortal, portal=portal) as world:  # type: ignore[arg-type]  # it is one
            sql.expire_leases()
            world.clock.advance(jump)
            answer_all(world, asked, meanwhile)
            await _work(world, mortal, [ordered, *_answer(world)])
            while not mortal.is_dead and index_status(world) not in ENDED - {"failed"} and (more := _answer(world)):
                await _work(world, mortal, more)
            commits += mortal.commits
        if mortal.is_dead and not died:
            died = True
            known = {prompt: asked[prompt] for prompt in _list_answered(sql)}
        jump += timedelta(minutes=3)
        while rows := sql.list_due_outbox("tg", NOW + timedelta(days=2), 1000):
            for row in rows:
                _note_said(row.body, row.key or row.id, said)
                sql.mark_outbox_sent(row.id, "77")
        found = sql.list_runs(_filter())
        if found and all(one.status in ENDED - {"failed"} for one in found) and not sql.list_ready_sessions():
            break
    async with a_run_world(folder, documents, store=MortalStore(sql), portal=portal) as world:  # type: ignore[arg-type]  # as above
        told = [one for key in (f"run:{row.run_id}" for row in sql.list_runs(_filter())) for one in events(world, key=key)]
        return Survival(
            status=index(world).status,
            commits=commits,
            died=died,
            asked=asked,
            asked_again={prompt: asked[prompt] - times for prompt, times in known.items() if asked[prompt] > times},
            writes=portal.written(),
            said=list(said.values()),
            sql=sql,
            events=told,
        )


def _list_answered(sql: SqlStore) -> list[str]:
    """Return the prompts whose answers the journal holds."""
    found = [one for row in sql.list_runs(_filter()) for one in sql.read_events(f"run:{row.run_id}")]
    return [find_question(one.data["output"]) for one in found if one.type == "NodeDone" and one.data["model"]]


def answer_all(world: World, asked: Counter[str], meanwhile: Callable[[Portal, str], None] = do_nothing) -> None:
    """Let the model answer every prompt, and count how often each was asked."""

    async def answer(payload: Mapping[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        question = name_question(payload["messages"])
        prompt = question or payload["messages"][-1]["content"]
        asked[prompt] += 1
        meanwhile(world.portal, prompt)
        text, calls = answer_question(prompt, OPERATIONS)
        if on_delta is not None:
            for begin in range(0, len(text), PIECE):
                await on_delta(text[begin : begin + PIECE])
        wanted = tuple(ToolCall(id=f"c{place}", name=name, arguments=given) for place, (name, given) in enumerate(calls))
        return replace(Said(text), calls=wanted)

    world.model.stream_chat = answer  # type: ignore[method-assign,assignment]  # the wire of this test


def index_status(world: World) -> str:
    """The status of the run, "" before it began."""
    rows = world.sql.list_runs(_filter())
    return next((row.status for row in rows if f"run:{row.run_id}" == RUN), "")


def _filter() -> Any:
    return RunFilter(limit=1000)


async def _work(world: World, mortal: MortalStore, rows: list[InboxRow]) -> None:
    """Hand in the inputs and work until nothing is left or the program is dead."""
    async with world.working():
        for row in rows:
            try:
                await world.orchestrator.receive([row])
            except StoreUnwritable:
                break

        async def done() -> bool:
            return mortal.is_dead or (not world.sql.list_due_timers(world.clock.now()) and await world.orchestrator.is_idle())

        await until(done)


def _answer(world: World) -> list[InboxRow]:
    """What a person does who sees what waits: presses each open card, answers each open question, retries what has failed."""
    rows: list[InboxRow] = []
    for row in world.sql.list_runs(_filter()):
        key = f"run:{row.run_id}"
        if row.status == "failed" and not row.parent:  # a call that was begun and certainly not made is not made again by itself
            rows.append(_click(row.run_id, "retry"))
        state, _ = load_state(world.sql, key)
        rows += [press(card, key=key) for card in list_open_confirmations(state)]
        for wait in (state.run.waits if state.run else {}).values():
            if wait.on == "input":
                rows.append(_click(row.run_id, wait.waits_for, "0"))
    chat, _ = load_state(world.sql, f"session:{CHAT}")
    rows += [message("Ольга") for _ in chat.listening or ()]
    return rows


def _click(run_id: str, *words: str) -> InboxRow:
    fresh = generate_id()
    body = FeatureClick(words=("run", run_id, *words), callback_id=fresh).to_json()
    return InboxRow(
        id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
        body=body, received_at=NOW,
    )  # fmt: skip


def _note_said(body: Mapping[str, Any], key: str, said: dict[str, str]) -> None:
    """Note what a message says; a later message with the same key replaces it, as it does in the chat."""
    text = " ".join(part["text"] for part in body.get("parts", ()) if "text" in part)
    if text:
        said[key] = text
