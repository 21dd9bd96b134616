"""Finds the record on which a workflow works: the one given, or the one that its person names. Nothing is guessed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from engines.workflows.core.blocks.conflicts import Record
from engines.workflows.core.blocks.host import RecordWords, find_title
from engines.workflows.core.entities import ENTITIES
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.taint import UNDECLARED, Origins, Value
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed, note_value
from orchestrator.engines.shared.declared import RECORDS
from orchestrator.engines.shared.launch import MOST_TRIES, PARAMETERS, TEXT

MOST_OFFERED: Final = 8
"""How many records a question offers; of more, the person is asked to say more."""
_LONGEST_LABEL: Final = 60
_LONGEST_NAME: Final = 200
_SHOWN: Final = 100
_NUMBER: Final = re.compile(r"(?:№|#)?\s*([1-9][0-9]{0,14})", re.ASCII)
_KEY: Final = re.compile(r"([a-z]+):([1-9][0-9]{0,14})", re.ASCII | re.IGNORECASE)
_LINK: Final = re.compile(r"https?://\S+/crm/([a-z]+)/details/([1-9][0-9]{0,14})/?(?:\?\S*)?", re.ASCII)
_SELECT: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("ID", "NAME", "LAST_NAME")}
_USUAL: Final = ("ID", "TITLE")
_SEARCHED: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("LAST_NAME", "NAME")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    record: Record
    origins: Origins

    @property
    def number(self) -> Value:
        return Value(self.record.number, self.origins)


async def choose_record(ctx: RunContext, kind: str, words: RecordWords) -> Chosen:
    """`words` know the address of this portal. Raises RunFailed if no record is named, RunSuspended while the person is asked."""
    if PARAMETERS in ctx.run.args:
        return await _take_given(ctx, kind, ctx.run.args[PARAMETERS], words)
    typed = ctx.run.args.get(TEXT)
    if typed is not None and str(typed.data).strip():
        answer = await _read_answer(ctx, kind, typed.map(str), "_block/which/0", words)
        if answer is not None:
            return answer
    return await _ask(ctx, kind, words)


async def _take_given(ctx: RunContext, kind: str, parameters: Value, words: RecordWords) -> Chosen:
    parameter = parameters.data.get(kind) if isinstance(parameters.data, Mapping) else None
    node = "_block/record"
    if isinstance(parameter, str) and await _names_another(ctx, kind, parameter.strip(), node, words):
        raise RunFailed(
            "workflow-record-elsewhere", f"parameters.{kind}: {parameter.strip()[:_SHOWN]!r} is no {kind} of this portal", kind=kind
        )
    number = read_number(kind, parameter)
    if number is None:
        problem = "is missing" if parameter is None else f"is {str(parameter)[:_SHOWN]!r}"
        raise RunFailed("workflow-record-unfit", f"parameters.{kind} {problem}: a number is needed, such as 481 or {kind}:481", kind=kind)
    return await _keep(ctx, kind, number, parameters.origins, node)


async def _names_another(ctx: RunContext, kind: str, reference: str, node: str, words: RecordWords) -> bool:
    """Return whether a key names another kind of record, or a link another portal."""
    link = _LINK.fullmatch(reference)
    match = link or _KEY.fullmatch(reference)
    if match is None or (link is None and match[1].lower() not in RECORDS) or ctx.find_state(node) == "finished":
        return False
    if link is None or match[1].lower() != kind:
        return match[1].lower() != kind
    here = (await words.describe_record(ctx.actor, Record(kind=kind, number=match[2]), {})).url
    try:
        return bool(here) and urlsplit(reference).hostname != urlsplit(here).hostname
    except ValueError:  # what looks like an address and is none
        return True


def read_number(kind: str, raw: object) -> str | None:
    """Read 481, "481", "deal:481" or a link to the record; None for anything else."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw) if raw > 0 else None
    text = raw.strip() if isinstance(raw, str) else ""
    if match := _NUMBER.fullmatch(text):
        return match[1]
    if (match := _KEY.fullmatch(text) or _LINK.fullmatch(text)) and match[1].lower() == kind:
        return match[2]
    return None


async def _keep(ctx: RunContext, kind: str, number: str, origins: Origins, node: str) -> Chosen:
    """In a key or a link nobody finds the number that a person gave."""
    number_value = await note_value(ctx, node, number, origins=origins)
    return Chosen(record=Record(kind=kind, number=number), origins=number_value.origins)


async def _ask(ctx: RunContext, kind: str, words: RecordWords) -> Chosen:
    for number in range(1, MOST_TRIES + 1):
        which = Notice(code="workflow-record-which", args={"kind": kind})
        question = Ask(notice=which, takes=frozenset({"text"}), is_again=number > 1)
        heard = await ctx.wait_input(f"_block/which/{number}", question)
        answer = await _read_answer(ctx, kind, heard.value.map(str), f"_block/which/{number}", words)
        if answer is not None:
            return answer
    raise RunFailed("workflow-record-unfit", f"no answer named a {kind}", kind=kind)


async def _read_answer(ctx: RunContext, kind: str, typed: Value, node: str, known: RecordWords) -> Chosen | None:
    words = " ".join(typed.data.split())[:_LONGEST_NAME]
    if await _names_another(ctx, kind, words, f"{node}/record", known):
        await ctx.say(build_reply(Notice(code="workflow-record-elsewhere", args={"kind": kind})), key=f"{node}/unfit")
        return None
    number = read_number(kind, words)
    if number is not None:
        return await _keep(ctx, kind, number, typed.origins, f"{node}/record")
    rows = await _search(ctx, kind, Value(words, typed.origins), node)
    if rows is None:
        await ctx.say(build_reply(Notice(code="workflow-records-away", args={"name": words})), key=f"{node}/unfit")
        return None
    same = [row for row in rows if find_title(row).casefold() == words.casefold()]
    if len(same) == 1 or len(rows) == 1:
        return Chosen(record=Record(kind=kind, number=str((same or rows)[0]["ID"])), origins=typed.origins | UNDECLARED)
    if not 1 < len(rows) <= MOST_OFFERED:
        code = "workflow-record-none" if not rows else "workflow-record-many"
        await ctx.say(build_reply(Notice(code=code, args={"kind": kind, "name": words, "count": len(rows)})), key=f"{node}/unfit")
        return None
    options = tuple(Option(label=f"{find_title(row)[:_LONGEST_LABEL]} (№ {row['ID']})", value=str(row["ID"])) for row in rows)
    question = Ask(notice=Notice(code="workflow-record-several", args={"kind": kind, "name": words}), options=options)
    heard = await ctx.wait_input(f"{node}/one", question)
    return Chosen(record=Record(kind=kind, number=str(heard.value.data)), origins=heard.value.origins | typed.origins)


async def _search(ctx: RunContext, kind: str, words: Value, node: str) -> Sequence[Mapping[str, Any]] | None:
    """A page, newest first; None if the portal has not answered every time."""
    is_answered = True
    for place, filter_values in _list_filters(kind, words):
        params = {"filter": filter_values, "select": list(_SELECT.get(kind, _USUAL)), "order": {"ID": "DESC"}}
        outcome = await ctx.submit(f"{node}/{place}", RunEffect(method=ENTITIES[kind].list_method, params=params, must_read=True))
        rows = outcome.result if outcome.status == "succeeded" and isinstance(outcome.result, list) else []
        if matches := [row for row in rows if isinstance(row, Mapping) and str(row.get("ID", "")).isdecimal()]:
            return matches
        is_answered &= outcome.status != "refused"
    return () if is_answered else None


def _list_filters(kind: str, words: Value) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """Yield (name, filter); contacts hold first and last name in two fields."""
    for field in _SEARCHED.get(kind, ("TITLE",)):
        yield field.lower(), {f"%{field}": words}
    first, _, last = words.data.partition(" ")
    if kind == "contact" and last:
        head, other = Value(first, words.origins), Value(last, words.origins)
        yield "name_first", {"%NAME": head, "%LAST_NAME": other}
        yield "name_last", {"%LAST_NAME": head, "%NAME": other}
