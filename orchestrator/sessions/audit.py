"""Audit records of each iteration and decision (S004-43 … S004-47, X9). A failure never disturbs a turn."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import orjson

from bitrix.masking import is_free_of_secrets, mask_value
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import UNSTORED, Outcome, to_written_params
from orchestrator.sessions.iterations import Iteration
from state.audit_log.interaction_log import InteractionLogger
from state.audit_log.records import encode_record, find_log_user
from state.clock import Clock, format_iso
from state.events.runs import NodeDone
from state.model.card import Card
from state.model.session_state import AgentState
from state.stored import JsonObject
from state.trace import get_trace_id

log = logging.getLogger(__name__)

SCHEMA = 2
"""The version of docs/audit-record.schema.json."""
ENCODED_TOGETHER = 100
"""After so many records of one run the event loop gets its turn."""
PAUSE_SECONDS = 0.05
"""How long a run that makes records more quickly than they are written waits after so many of them."""
MANY_WAITING = 1_000
MOST_WAITING = 20_000
"""How many records may wait in memory for a disk that stands still; later ones are left to the journal."""
KEPT_ENTRIES = 5
"""Confirmations and calls in a record; the journal holds all."""
KEPT_CARDS = 1000
CONFIRMATION_KEYS = ("confirmation_id", "effect_id", "method", "params", "status", "requested_by", "requested_by_name", "fingerprint")
_UNTOLD = frozenset({"preview", "before", "provenance", "covers", "reasons", "nonce"})


@dataclass(frozen=True, kw_only=True)
class PlayedNode:
    """What a node of a run did."""

    node: str
    what: str
    """"model", "effect", "memo", "say", "input", "sleep" or "child"."""
    call: JsonObject | None = None
    """The proposed call with its result."""
    model: str = ""
    tokens: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    text: str = ""
    provider: str = ""
    failed_before: Sequence[str] = ()


class Audit:
    def __init__(self, log: InteractionLogger, clock: Clock) -> None:
        """Keep the interaction log; a thread of its own writes to it, and the end of the program waits for what it was given."""
        self._clock = clock
        self._log = log
        self._thread = ThreadPoolExecutor(1, "audit")
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._cards: dict[str, tuple[Card, JsonObject]] = {}
        """The latest cards as records have them, by id: most cards are in several records, and a card never changes, but is replaced."""

    async def record_iteration(  # noqa: PLR0913 - each is a field of the record
        self, entry: Iteration, *, actor: Actor, session: str, turn_id: str, text: str, mode: Mode, state: AgentState, home: str = ""
    ) -> None:
        """`state` is what the model sees. For a run, `home` is the conversation that shows it."""
        self._write(
            find_log_user(actor.key, home or session),
            {
                "type": "iteration",
                "session": session,
                "turn_id": turn_id,
                "iteration": entry.number,
                "mode": mode,
                "requested_by": {"key": actor.key, "name": actor.name},
                "user_message": text,
                "model_response": entry.blocks or {"raw": entry.raw},
                "executed_actions": entry.calls,
                "targets": sorted({str(call.get("method")) for call in entry.calls}),
                "tokens": entry.tokens,
                "model": entry.model,
                **describe_provider(entry.provider, entry.failed_before),
                "seconds": entry.model_seconds,
                **({"service_answers": entry.service_answers} if entry.service_answers else {}),
                "state": trim_state(state, self._describe_card),
            },
        )

    async def record_nodes(
        self, nodes: Sequence[PlayedNode], *, actor: Actor, run: str, definition: str, engine: str, mode: Mode, home: str = ""
    ) -> None:
        """`run` is its session key, `home` the conversation that shows it."""
        user = find_log_user(actor.key, home)
        for number, node in enumerate(nodes, start=1):
            record = build_node_record(node, actor=actor, run=run, definition=definition, engine=engine, mode=mode)
            self._write(user, record)
            if number % ENCODED_TOGETHER == 0:  # a run may have thousands of nodes, and the loop belongs to everybody
                await asyncio.sleep(PAUSE_SECONDS if len(self._waiting) > MANY_WAITING else 0)

    async def record_decision(
        self, *, actor: Actor, session: str, entry: Card, via: str, outcome: Outcome | None, notice: str, home: str = ""
    ) -> None:
        """`outcome` is None if the call did not run; `notice` is a message code."""
        self._write(
            find_log_user(actor.key, home or session),
            {
                "type": "decision",
                "session": session,
                "decided_by": {"key": actor.key, "name": actor.name},
                "via": via,
                "user_message": notice or (outcome.status if outcome else ""),
                "executed_actions": [{"method": entry.method, "status": outcome.status if outcome else entry.status}],
                "confirmation": show_written_keys(entry.select(CONFIRMATION_KEYS)),
                "outcome": (_describe_outcome(outcome) if outcome else {}) | {"notice": notice},
            },
        )

    async def record_failure(self, *, actor: Actor, session: str, turn_id: str, what: str) -> None:
        self._write(find_log_user(actor.key, session), {"type": "trouble", "session": session, "turn_id": turn_id, "errors": [what]})

    def _describe_card(self, card: Card) -> JsonObject:
        known = self._cards.get(card.confirmation_id)
        if known is not None and known[0] is card:
            return known[1]
        if len(self._cards) >= KEPT_CARDS:
            self._cards.clear()
        described = describe_card(card)
        self._cards[card.confirmation_id] = card, described
        return described

    def wait(self, seconds: float = 5.0) -> None:
        """Block until all records handed in so far are in the log, or could not be written. Raises TimeoutError after `seconds`."""
        self._thread.submit(self._write_waiting).result(seconds)

    def _write(self, user: str, record: JsonObject) -> None:
        if len(self._waiting) >= MOST_WAITING:
            log.error("so many audit records wait that one is left to the journal", extra={"action": "interaction_log.lost"})
            return
        self._waiting.append((user, self._freeze(user, record)))
        with suppress(RuntimeError):  # the program ends
            self._thread.submit(self._write_waiting)

    def _write_waiting(self) -> None:
        while self._waiting:
            user, record = self._waiting.popleft()
            try:
                masked = _mask(user, record)
            except Exception:  # what cannot be masked may hold a secret
                log.exception("an interaction was not logged", extra={"action": "interaction_log.record"})
            else:
                self._log.write(user, masked)

    def _freeze(self, user: str, record: JsonObject) -> bytes:
        trace = {"trace_id": get_trace_id()} if get_trace_id() else {}
        return encode_record({"timestamp": format_iso(self._clock.now()), "user": user, "v": SCHEMA, **trace, **record})


def _mask(user: str, record: bytes) -> bytes:
    """Return the record with its secrets masked. Most records contain no secret and are left unchanged, which is faster."""
    return record if is_free_of_secrets(record) else encode_record({**mask_value(orjson.loads(record)), "user": user})


def describe_model_node(done: NodeDone, text: str) -> PlayedNode:
    """`text` is "" for an answer to a service."""
    return PlayedNode(
        node=done.node,
        what="model",
        model=done.model,
        tokens={"prompt": done.prompt_tokens, "completion": done.completion_tokens},
        seconds=done.seconds,
        text=text,
        provider=done.provider,
        failed_before=done.failed_before,
    )


def build_node_record(node: PlayedNode, *, actor: Actor, run: str, definition: str, engine: str, mode: str) -> JsonObject:
    return {
        "type": "node",
        "session": run,
        "run": run,
        "engine": engine,
        "definition": definition,
        "node": node.node,
        "what": node.what,
        "mode": mode,
        "requested_by": {"key": actor.key, "name": actor.name},
        "executed_actions": [node.call] if node.call is not None else [],
        "model_response": {"raw": node.text} if node.text else {},
        "tokens": dict(node.tokens),
        "model": node.model,
        **describe_provider(node.provider, node.failed_before),
        "seconds": node.seconds,
    }


def describe_provider(provider: str, failed_before: Sequence[str]) -> JsonObject:
    return ({"provider": provider} if provider else {}) | ({"failed_before": list(failed_before)} if failed_before else {})


def describe_card(card: Card) -> JsonObject:
    """Return a card as the agent state in a record has it."""
    return show_written_keys(card.to_stored_without(*_UNTOLD))


def trim_state(agent: AgentState, describe: Callable[[Card], JsonObject] = describe_card) -> JsonObject:
    """The latest cards and calls, without previews and nonces."""
    latest = list(agent.confirmations.values())[-KEPT_ENTRIES:]
    confirmations = [describe(card) for card in latest]
    without_cards = replace(agent, confirmations={})  # a session may have hundreds, and of most nothing is told
    return {**without_cards.to_stored(), "confirmations": confirmations, "done": agent.done[-KEPT_ENTRIES:]}


def _describe_outcome(outcome: Outcome) -> dict[str, object]:
    fields = outcome.model_dump(mode="json", exclude={"preview", *UNSTORED} - {"call"})
    return {**fields, "call": to_written_params(outcome.method, outcome.call)}


def show_written_keys(entry: dict[str, object]) -> dict[str, object]:
    """Return a card's entry with the keys that the model gave to the commands of a batch."""
    params = entry.get("params")
    return {**entry, "params": to_written_params(str(entry.get("method", "")), params)} if isinstance(params, Mapping) else entry
