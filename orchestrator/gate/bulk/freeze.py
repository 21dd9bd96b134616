"""Freezes a change of many records: each call is judged by the present rules, and what would run is written into one file."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bitrix.client.batch import find_references
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BulkFile, BulkItem, LeftRecord, add_sums
from orchestrator.domain.effect import ALREADY_SO, BatchUnwritable, Effect, Provenance, write_batch
from orchestrator.domain.outputs import Notice
from orchestrator.gate.approve.run_approved import refuse_unchanged
from orchestrator.gate.bulk.notes import METHOD, list_notes, list_part_notes
from orchestrator.gate.bulk.sources import Candidate, Candidates, list_candidates, list_own_values, normalize_leaf
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Ask, Call, Facts, Refuse
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.kinds.bulk import BULK_KIND
from orchestrator.gate.call.kinds.bulk_methods import DIGEST, MARK
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import build_read_refusal, refuse
from orchestrator.gate.decide.consent import CONSENT_REASONS
from orchestrator.gate.decide.decide import evaluate
from orchestrator.gate.decide.fetch_facts import fetch_facts
from orchestrator.gate.normalize.batch import build_command_label, unpack_commands
from orchestrator.gate.preview.format_values import Reader
from orchestrator.gate.preview.preview import build_item
from orchestrator.language.lexicon import load_lexicon
from state.canonical import hash_text
from state.events.bulk import BulkFrozen
from state.stored import JsonObject

_TITLES: Final = {verb: load_lexicon("bulk_card").read_titles("titles", verb) for verb in ("update", "add", "handover", "undo")}
CHANGED: Final = "gate-bulk-changed"
_INSIDE: Final = frozenset({"W"})
_OF_ONE: Final = frozenset({"gate-hands-away"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bench:
    effect: Effect
    actor: Actor
    deps: GateDeps
    reader: Reader
    is_undo: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Judged:
    item: BulkItem | None = None
    left: LeftRecord | None = None
    refusal: Refuse | None = None
    ask: Ask | None = None


async def freeze(call: Call, effect: Effect, *, actor: Actor, deps: GateDeps, ledger: Ledger) -> Call | Refuse:
    """The same call with the file that it stands for from now on, which is stored with the next commit."""
    try:
        candidates = await list_candidates(call, actor, deps)
        if isinstance(candidates, Refuse):
            return candidates
        if not candidates.rows:
            return refuse("gate-bulk-none")
        file = await _judge_all(candidates, effect, actor, deps, ledger)
    except Refusal as refusal:
        return refusal.verdict
    except BitrixError as error:
        return build_read_refusal(error)
    if isinstance(file, Refuse):
        return file
    text = await asyncio.to_thread(file.to_text)
    digest = hash_text(text)
    await ledger.buffer(BulkFrozen(effect_id=str(call.params[MARK]), file=digest), actor=actor.key, blobs={digest: text})
    await ledger.flush()  # what a card covers is stored before it is shown
    frozen = {**call.params, DIGEST: digest}
    return replace(call, params=frozen, proposed_essence=BULK_KIND.build_essence(call.method, frozen))  # the same file has one card


async def _judge_all(candidates: Candidates, effect: Effect, actor: Actor, deps: GateDeps, ledger: Ledger) -> BulkFile | Refuse:
    reader = Reader(names=deps.names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0, now=ledger.now)
    bench = _Bench(effect=effect, actor=actor, deps=deps, reader=reader, is_undo=candidates.verb == "undo")
    known: dict[str, Facts] = {}
    items: list[BulkItem] = []
    left: list[LeftRecord] = []
    asks: list[Ask] = []
    refusals: list[Refuse] = []
    for number, candidate in enumerate(candidates.rows):
        await asyncio.sleep(0)  # one record takes some milliseconds, and others wait
        judged = await _judge(candidate, f"c{number + 1}", bench, known)
        if isinstance(judged, Refuse):
            return judged
        if judged.item is not None:
            items.append(judged.item)
        if judged.left is not None:
            left.append(judged.left)
            refusals += [judged.refusal] if judged.refusal is not None else []
        if judged.ask is not None:
            asks.append(judged.ask)
    if not items:
        return _refuse_all(left, refusals)
    whole = await list_notes(items, candidates.former, bench.reader) if candidates.former else []
    notes = await _judge_notes(whole, "n", bench)
    if isinstance(notes, Refuse):
        return notes
    part = await list_part_notes(items, candidates.former, bench.reader) if notes else []
    part_notes = await _judge_notes(part, "p", bench)
    if isinstance(part_notes, Refuse):
        return part_notes
    reasons = {_build_reason_key(reason): reason for ask in asks for reason in _list_own_reasons(ask)}
    return BulkFile(
        title=_TITLES[candidates.verb][actor.locale].format(count=len(items)),
        verb=candidates.verb,
        entity=candidates.entity,
        items=items,
        notes=notes,
        part_notes=part_notes,
        left=left,
        sums=add_sums(items),
        reasons=tuple(reasons.values()),
        matched=candidates.matched,
        sorted_by=candidates.sorted_by,
        taps=max((ask.taps for ask in asks), default=1),
        lead=any(ask.lead for ask in asks),
        four_eyes=any(ask.four_eyes for ask in asks),
    )


def _refuse_all(left: Sequence[LeftRecord], refusals: Sequence[Refuse]) -> Refuse:
    already = sum(one.why.code in ALREADY_SO for one in left)
    if refusals and already == 0 and len({refusal.reason.code for refusal in refusals}) == 1:  # it is wrong for each in the same way
        return refusals[0]
    return refuse("gate-bulk-nothing", count=len(left), already=already, other=len(left) - already)


async def _judge_notes(written: Sequence[JsonObject], sign: str, bench: _Bench) -> list[BulkItem] | Refuse:
    notes: list[BulkItem] = []
    for number, params in enumerate(written, start=1):
        candidate = Candidate(method=METHOD, params=params, record=("user", params["USER_ID"]), row={})
        judged = await _judge(candidate, f"{sign}{number}", bench, {})
        if isinstance(judged, Refuse):
            return judged
        notes += [judged.item] if judged.item is not None else []
    return notes


async def _judge(candidate: Candidate, key: str, bench: _Bench, known: dict[str, Facts]) -> _Judged | Refuse:
    """A refusal that is about the change and not about this record ends it all: it would come for each."""
    if find_references(candidate.params):  # the batch would put an answer about another record in its place
        refusal = refuse("gate-reference", param="fields", method=candidate.method)
        return _leave_out(candidate, refusal) if candidate.is_filled else refusal
    candidate = _write_as_sent(candidate, key)
    leaf = normalize_leaf(candidate.method, candidate.params, bench.actor, bench.deps, origin=f"bulk:{key}")
    if isinstance(leaf, Refuse):  # a template filled with a record's own words is that record's matter
        return _leave_out(candidate, leaf) if candidate.is_filled else leaf
    if not set(leaf.classes) <= _INSIDE and leaf.method != METHOD:
        return refuse("gate-bulk-method", method=leaf.method)
    facts = await _find_facts(leaf, candidate, bench, known)
    proposed = Effect(
        method=leaf.method,
        params=candidate.params,
        proposed_by="undo" if bench.is_undo else bench.effect.proposed_by,
        provenance=Provenance(message=None, prose=bench.effect.provenance.prose),
    )
    fine, verdict = evaluate(leaf, mode="full", policy=bench.deps.policy, actor=bench.actor, facts=facts, effect=proposed)
    verdict = refuse_unchanged(verdict, fine, facts)
    if not (isinstance(verdict, Refuse) or bench.is_undo) and (unread := _find_unread(leaf, candidate.row)) is not None:
        return refuse("gate-bulk-field", field=unread)
    name = f"{candidate.record[0]}:{candidate.record[1]}"
    if not isinstance(verdict, Refuse) and not _holds(fine, candidate.expected, candidate.row):
        verdict = refuse(CHANGED, entity=candidate.record[0], id=candidate.record[1])
    if isinstance(verdict, Refuse):
        title = build_command_label(fine, facts, why=verdict.reason.code).title
        return _Judged(left=LeftRecord(record=name, title="" if title == "none" else title, why=verdict.reason), refusal=verdict)
    is_update = fine.spec.verb == "update"  # the sum of a record for which something else is made says nothing
    amount = fields.find_value(candidate.row, "OPPORTUNITY", candidate.record[0]) if is_update else None
    item = BulkItem(
        key=key,
        record=name,
        method=fine.method,
        params=candidate.params,
        essence=leaf.essence,
        before=dict(list_own_values(fine, candidate.row)) if is_update else {},
        shown=await build_item(replace(fine, key=key), facts, bench.reader),
        amount=str(amount) if fields.parse_number(amount or "") is not None else "",
        currency=str(fields.find_value(candidate.row, "CURRENCY_ID", candidate.record[0]) or ""),
        since=_find_since(candidate) if is_update else "",
    )
    return _Judged(item=item, ask=verdict if isinstance(verdict, Ask) else None)


def _find_unread(leaf: Call, row: JsonObject) -> str | None:
    """A field that lists do not give: the file could not show what is replaced, notice that it moved on, or put it back."""
    if leaf.spec.verb != "update":
        return None
    return next((name for name in leaf.written_fields if not fields.has_field(row, name, leaf.entity)), None)


def _write_as_sent(candidate: Candidate, key: str) -> Candidate:
    """With its values as a batch carries them, or no part of the file would be the same as what was judged. Raises Refusal."""
    try:
        cmd = write_batch({key: (candidate.method, candidate.params)})
    except BatchUnwritable as error:
        raise build_refusal("gate-batch-broken", key=key, why=str(error)) from None
    return replace(candidate, params=unpack_commands(cmd)[0].params)


def _leave_out(candidate: Candidate, refusal: Refuse) -> _Judged:
    left = LeftRecord(record=f"{candidate.record[0]}:{candidate.record[1]}", why=refusal.reason)
    return _Judged(left=left, refusal=refusal)


async def _find_facts(leaf: Call, candidate: Candidate, bench: _Bench, known: dict[str, Facts]) -> Facts:
    """What is read of the portal is read once for all records that get the same values."""
    records = {candidate.record: candidate.row}
    kind = hash_text(f"{leaf.method} {sorted(map(str, leaf.written_fields.values()))}") if leaf.spec.verb == "update" else leaf.method
    if kind not in known:
        known[kind] = await fetch_facts(leaf, bench.actor, bench.deps, made=records)
    return replace(known[kind], records={**known[kind].records, **records})


def _holds(leaf: Call, expected: JsonObject, row: JsonObject) -> bool:
    return all(critical_fields.has_value(leaf, name, value, row) for name, value in expected.items())


def _find_since(candidate: Candidate) -> str:
    for name in ("DATE_CREATE", "createdTime", "createdDate", "CREATED"):
        if value := fields.find_value(candidate.row, name, candidate.record[0]):
            return str(value)
    return ""


def _build_reason_key(reason: Notice) -> str:
    """One reason for all records: what differs by record is on the card and in the file."""
    return f"{reason.code} {reason.args.get('field', '')}"


def _list_own_reasons(ask: Ask) -> list[Notice]:
    """Without those of consent: the file's card asks anyway."""
    return [reason for reason in ask.reasons if reason.code not in CONSENT_REASONS and reason.code not in _OF_ONE]


def is_changed(call: Call, item: BulkItem, record: JsonObject | None) -> bool:
    """Whether the record has other values now than the file shows."""
    if record is None:
        return True
    return any(
        not critical_fields.is_same_field_value(call, name, fields.find_value(record, name, call.entity), value)
        for name, value in item.before.items()
    )
