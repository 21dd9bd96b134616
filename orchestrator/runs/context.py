"""The object through which an engine works on a run.

What a node gave is stored before anything external follows from it; a replay gives what is stored.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from orchestrator.domain.effect import Effect, Outcome, Pending, Provenance
from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.outputs import Reply, SentFile, build_reply
from orchestrator.domain.taint import FOREIGN, NOWHERE, UNDECLARED, Origin, Origins, Value, join_origins, split_values
from orchestrator.engines.runs import (
    LARGEST_FILES,
    MEGABYTE,
    NodeState,
    RunContext,
    RunEffect,
    RunFailed,
    RunLimits,
    RunModelRequest,
    RunResult,
    RunSuspended,
    RunUpdate,
)
from orchestrator.gate.approve.duplicates import restore_outcome
from orchestrator.gate.call.kinds.registry import find_origin
from orchestrator.gate.call.kinds.telegram_methods import FILE
from orchestrator.gate.call.kinds.telegram_methods import KIND as TELEGRAM
from orchestrator.gate.call.run_schedules import ARG_ORIGINS, is_schedule
from orchestrator.gate.call.serialization import build_effect_id, build_node_slot
from orchestrator.runs.children import Children
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runs.memo import ACCEPTED, copy_data, format_args, load_output
from orchestrator.runs.model_nodes import ask_model_once
from orchestrator.runs.nodes import MAX_DETAIL, EngineMistake, check_reply, check_value, plays_node
from orchestrator.runs.run_pass import SLEEP, RunPass
from orchestrator.sessions import outbox
from orchestrator.sessions.audit import PlayedNode, describe_model_node
from orchestrator.sessions.iterations import build_call_record
from orchestrator.sessions.paid_models import PaidModels, attach_models
from state.clock import format_iso, parse_iso
from state.events.runs import NodeDone, RunWaits
from state.journal.blobs import get_blob_prefix, pack_file, unpack_file
from state.journal.store import OutboxRow
from state.journal.thread_worker import run_to_end
from state.stored import JsonObject

_OWN: Final[Origins] = frozenset({"definition", "person"})
"""Origins whose words are a wish."""
_AUTHOR: Final[Origins] = frozenset({"definition"})


def build_provenance(params: Mapping[str, Any], foreign: ForeignTexts) -> tuple[JsonObject, Provenance]:
    """(the params without origins, what the gate must know of them).

    Whatever is not the program's own must be a `Value`. Foreign text makes a person be asked; words of author and person name records,
    labels and model answers name nothing.
    """
    data, values = split_values(params)
    own = [one for one in values if one.origins and one.origins <= _OWN]
    others = [one for one in values if one.origins - _OWN]
    return data, Provenance(
        message=None,  # what the definition writes was ordered by whoever published it
        prose=any(one.origins & FOREIGN for one in values) or foreign.holds(params),
        external=tuple(text for one in others for text in _list_texts(one)),
        person_text=" ".join(text for one in own for text in _list_texts(one)),
        keys=frozenset(key for one in values if one.origins - _AUTHOR for key in _list_keys(one.data)),
        numbers=frozenset(int(text) for one in own for text in _list_texts(one) if text.isascii() and text.isdecimal()),
    )


def list_arg_origins(args: object, foreign: ForeignTexts) -> dict[str, list[str]]:
    """Of the arguments of a later run, which must still know what strangers may have written."""
    whole = args.origins if isinstance(args, Value) else NOWHERE
    plain_args = args.data if isinstance(args, Value) else args
    if not isinstance(plain_args, Mapping):
        return {}
    origins_by_name: dict[str, list[str]] = {}
    for name, arg in plain_args.items():
        data, values = split_values(arg)
        origins_by_name[str(name)] = [str(origin) for origin in sorted(foreign.find_origins(data, whole | join_origins(values)))]
    return origins_by_name


def _list_texts(value: Value) -> list[str]:
    texts: list[str] = []
    _collect(value.data, texts)
    return texts


def _list_keys(data: object) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield from map(str, data)
    if isinstance(data, Mapping | list | tuple):
        for part in data.values() if isinstance(data, Mapping) else data:
            yield from _list_keys(part)


def _collect(data: object, texts: list[str]) -> None:
    if isinstance(data, Mapping):
        for part in data.values():
            _collect(part, texts)
    elif isinstance(data, list | tuple):
        for part in data:
            _collect(part, texts)
    elif isinstance(data, str | int | float) and not isinstance(data, bool):
        texts.append(str(data))


class Context(RunPass, RunContext):
    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        if (f"say/{node}" if is_message else node) in self.known.done or f"{node}/closed" in self.known.done:
            return "finished"
        return "waited" if node in self.known.woken or self.is_waiting(node) else "new"

    def count_failures(self, node: str) -> int:
        return self.known.attempts.get(node, 0)

    def find_time(self, node: str) -> datetime:
        """When a finished node's output, or the answer to a question, was stored; of others the present time."""
        stored = self.known.done_at.get(node) or self.known.done_at.get(f"{node}/closed")
        return parse_iso(stored) if stored else self.now

    def is_before_retry(self, node: str) -> bool:
        return node in self.known.before_retry or f"{node}/closed" in self.known.before_retry

    def limit(self, limits: RunLimits) -> None:
        self.model_budget.limits = limits

    async def say(self, reply: Reply, *, key: str, message: str = "") -> None:
        """Once for each `key`, with what is stored next; a crash before that loses message and node together."""
        self.names.add_message(key)
        node = f"say/{key}"
        if node in self.known.done:
            return
        self.check_going_on(node)
        check_reply(key, reply)
        cleaned = self._tools.guard.clean_reply(reply, "", locale=self.actor.locale)
        row = outbox.build_reply_row(self._session.key, cleaned, self.now, key=f"{self._session.key}:{message or key}")
        await self.store(NodeDone(node=node, kind="say"), outbox=[row], at_once=False)
        self.records.append(PlayedNode(node=node, what="say"))

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        """Sends it now, once for each `key`. Its content becomes a blob of the run."""
        self.names.add_message(key)
        node = f"say/{key}"
        if node in self.known.done:
            return
        self.check_going_on(node)
        content = await load()
        most = LARGEST_FILES[file.kind]
        if not 0 < len(content) <= most:
            raise RunFailed("run-file-size", f"{file.name} has {len(content)} bytes", name=file.name, most=most // MEGABYTE)
        digest, text = await asyncio.to_thread(pack_file, self._session.key, content)
        del content
        caption = self._tools.guard.clean_reply(build_reply(text=file.caption), "", locale=self.actor.locale).text
        sent = file.model_copy(update={"digest": digest, "caption": caption})
        row = outbox.build_sent_file_row(self._session.key, sent, self.now, key=f"{self._session.key}:{key}")
        await self.store(NodeDone(node=node, kind="say", output_blob=digest), outbox=[row], blobs={digest: text})
        self.records.append(PlayedNode(node=node, what="say"))

    @plays_node("memo")
    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """{digest, size}, or {problem, why, args} if there is none. `load` is called once for each node."""
        if (done := self.known.done.get(node)) is None:
            self.check_going_on(node)
            content, problem = await _load_content(load)
            blobs: dict[str, str] = {}
            digest = ""
            if content is not None:
                digest, blobs[digest] = await asyncio.to_thread(pack_file, self._session.key, content)
            output = problem or ({"digest": digest, "size": len(content)} if content is not None else {"planned": True})
            done = NodeDone(
                node=node,
                attempt=self.known.count_attempt(node),
                output=output,
                output_blob=digest,
                origins=sorted(origins),
                refused=bool(problem),
            )
            await self.store(done, blobs=blobs)
            self.records.append(PlayedNode(node=node, what="memo"))
        return await self._recall(done)

    async def show(self, update: RunUpdate, *, node: str) -> None:
        for picture in (update.snapshot, update.patch):
            if picture is not None:
                check_value(node, picture)
        await self.drafts.show(update)

    @plays_node("model")
    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        if (done := self.known.done.get(node)) is not None:
            return await self._recall(done)
        self.check_going_on(node)
        value = await ask_model_once(self, node, request, on_delta)
        self.foreign.add(value)
        return value

    async def _recall(self, done: NodeDone) -> Value:
        return self._take_in(await load_output(done, self._tools.store))

    def _take_in(self, value: Value) -> Value:
        """Remembers what strangers may have written in it."""
        self.foreign.add(value)
        return value

    @plays_node("memo")
    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        if (done := self.known.done.get(node)) is not None:
            return await self._recall(done)
        self.check_going_on(node)
        with attach_models(self._build_paid_models(node)):
            data = await make()
        check_value(node, data)
        origins = self.foreign.find_origins(data, origins)
        await self.store(NodeDone(node=node, attempt=self.known.count_attempt(node), output=data, origins=sorted(origins)), at_once=False)
        self.records.append(PlayedNode(node=node, what="memo"))
        return self._take_in(Value(copy_data(data), origins))

    @plays_node("effect")
    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        if (done := self.known.done.get(node)) is not None:
            return Outcome.model_validate((await self._recall(done)).data)
        self.check_going_on(node)
        attempt = self.known.count_attempt(node)
        built = self._build_effect(node, effect, attempt)
        check_value(node, built.params)
        await self._session.flush()
        with attach_models(self._build_paid_models(node)):
            result = await run_to_end(self._submit(built))
        if isinstance(result, Pending) or result.status == "unknown":
            await self._wait_for_effect(node, built, result)
            raise RunSuspended(node)
        if not effect.is_trial or result.status == "refused":
            self.records.append(PlayedNode(node=node, what="effect", call=build_call_record(built, result)))
        is_told = result.status == "planned" and not effect.is_trial  # a plan is told at the end
        output = result.model_dump(mode="json", exclude=None if is_told else {"preview"})
        await self.store(
            NodeDone(
                node=node,
                kind="effect",
                attempt=attempt,
                output=output,
                origins=_name_origins(result),
                refused=result.status == "refused" and not result.already,
            )
        )
        self.foreign.add(Value(output, frozenset(_name_origins(result))))
        return result

    async def accept_refusal(self, node: str) -> None:
        accepted = f"{node}/{ACCEPTED}"
        if accepted not in self.known.done:
            self.check_going_on(accepted)
            await self.store(NodeDone(node=accepted), at_once=False)

    def _build_paid_models(self, node: str) -> PaidModels:
        """At the cost of the run's person."""

        def tell(done: NodeDone) -> None:
            self.records.append(describe_model_node(done, ""))

        return PaidModels(
            models=self._tools.model,
            budget=self.model_budget,
            session=self._session,
            actor=self.actor,
            owner=self.run.owner,
            node=f"{node}#service",
            kind="model",
            tell=tell,
        )

    def _build_effect(self, node: str, effect: RunEffect, attempt: int) -> Effect:
        params, provenance = build_provenance(effect.params, self.foreign)
        if self.actor.for_customers:  # a customer's words started it, so a person of the company decides every change
            provenance = provenance.model_copy(update={"prose": True})
        if is_schedule(effect.kind, effect.method):
            params = {**params, ARG_ORIGINS: list_arg_origins(effect.params.get("args"), self.foreign)}
        if effect.kind == TELEGRAM and isinstance(file := params.get(FILE), Mapping):  # so that no run sends what another one keeps
            if not file.get("digest") and self.mode != "shadow":
                raise RunFailed("run-file-gone", f"node {node} sends a file that was not fetched")
            params = {**params, FILE: {**file, "run": self._session.key}}
        return Effect(
            kind=effect.kind,
            method=effect.method,
            params=params,
            comment=effect.comment,
            proposed_by=self._session.state.run.engine if self._session.state.run else "",
            provenance=provenance,
            requires_confirmation=effect.requires_confirmation,
            must_read=effect.must_read,
            is_trial=effect.is_trial,
            is_computed=effect.is_computed,
            part_of=effect.part_of,
            came_back=self.known.came_back,
            slot=build_node_slot(self._session.key, node, attempt),
        )

    async def _submit(self, effect: Effect) -> Outcome | Pending:
        """A newer card that replaced the effect's decides."""
        gate, session = self._tools.gate, self._session
        effect_id = build_effect_id(effect.slot)
        while (row := await session.find_effect(effect_id)) is not None and row.status == "superseded":
            effect_id = build_effect_id(f"{effect_id}/again")
        if row is not None:
            return restore_outcome(row)
        return await gate.submit(effect, actor=self.actor, mode=self.mode, turn_id=session.key, ledger=session)

    async def _wait_for_effect(self, node: str, effect: Effect, result: Outcome | Pending) -> None:
        wait = self._session.state.run.waits.get(node) if self._session.state.run else None
        if wait is None or wait.waits_for != result.effect_id:
            rows: list[OutboxRow] = []
            card = self._session.state.cards.get(result.confirmation_id) if isinstance(result, Pending) else None
            if card is not None:
                rows.append(outbox.build_card_row(self._session.key, card, self.now))
            notice = result.notice if isinstance(result, Pending) else result.reason
            if notice is not None:
                rows.append(outbox.build_reply_row(self._session.key, build_reply(notice), self.now, key=f"{result.effect_id}:waits"))
            self.records.append(PlayedNode(node=node, what="effect", call=build_call_record(effect, result)))
            await self.wait_for_effect(node, result.effect_id, outbox=rows)

    async def load_file(self, sent: Value) -> Value:
        digest = str(sent.data.get("digest", "")) if isinstance(sent.data, Mapping) else ""
        text = await self._tools.store.load_blob(digest)
        if text is None or not text.startswith(get_blob_prefix(self._session.key)):  # a digest of the engine's own making opens nothing
            raise RunFailed("run-file-gone", f"the file {digest} is gone")
        return self._take_in(Value(await asyncio.to_thread(unpack_file, text), sent.origins))

    @plays_node("timer")
    async def sleep(self, node: str, until: datetime) -> None:
        if until.tzinfo is None:
            raise EngineMistake(f"node {node!r} sleeps until {until}, a time without a zone")
        if node in self.known.woken:
            return
        self.check_going_on(node)
        if not self.is_waiting(node):
            waits = RunWaits(node=node, on="timer", until=format_iso(until))
            await self.store(waits, timers=self.build_timers(node, SLEEP, until))
        raise RunSuspended(node)

    @plays_node("run")
    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        args = {name: self.foreign.mark(arg) for name, arg in args.items()}
        check_value(node, format_args(args))
        result = await Children(self).run_child(node, engine, definition, args)
        self.foreign.add(result.value)
        self.foreign.add(result.reasons.to_value())
        return result


async def _load_content(load: Callable[[], Awaitable[bytes | None]]) -> tuple[bytes | None, JsonObject]:
    """(content, {}), or (None, why not)."""
    try:
        return await load(), {}
    except FileUnavailable as error:
        return None, {"problem": error.reason[:MAX_DETAIL], "why": error.why, "args": dict(error.args_of_sentence)}


def _name_origins(result: Outcome) -> list[Origin]:
    """Titles are labels; a read may bring text that anybody wrote."""
    if not (result.foreign_text or result.call_class == "R"):
        return ["label"]
    return [find_origin(result.method) or "prose"]
