"""Finds the record on which a run of a workflow works: the one that was given, or that its person names in the chat.

A name is looked up with the rights of that person, and nothing is guessed: of several records the person chooses one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.domain.taint import UNDECLARED, Origins, Value
from orchestrator.engines.flows.launch import MOST_TRIES, PARAMETERS, TEXT
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed
from orchestrator.engines.workflows.blocks.conflicts import Record
from orchestrator.engines.workflows.blocks.host import find_title
from orchestrator.engines.workflows.entities import ENTITIES

MOST_OFFERED: Final = 8
"""How many records a question offers; of more the person is asked to say more."""
_LONGEST_LABEL: Final = 60
_LONGEST_NAME: Final = 200
_NUMBER: Final = re.compile(r"(?:№|#)?\s*([1-9][0-9]{0,14})", re.ASCII)
_KEY: Final = re.compile(r"([a-z]+):([1-9][0-9]{0,14})", re.ASCII | re.IGNORECASE)
_LINK: Final = re.compile(r"https?://\S+/crm/([a-z]+)/details/([1-9][0-9]{0,14})/?(?:\?\S*)?", re.ASCII)
_SELECT: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("ID", "NAME", "LAST_NAME")}
_USUAL: Final = ("ID", "TITLE")
_SEARCHED: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("LAST_NAME", "NAME")}
"""The fields in which a name is looked for, one after another; TITLE of other kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The record of a run, and where its number comes from."""

    record: Record
    origins: Origins

    @property
    def number(self) -> Value:
        """The number as the global variable that is named as the kind of the record."""
        return Value(self.record.number, self.origins)


async def choose_record(ctx: RunContext, kind: str) -> Chosen:
    """Return the record that was given, or that the run's person names.

    Raises RunFailed if what was given names none, or if no answer does; RunSuspended while the person is asked.
    """
    if PARAMETERS in ctx.run.args:
        given = ctx.run.args[PARAMETERS]
        number = read_number(kind, given.data.get(kind) if isinstance(given.data, Mapping) else None)
        if number is None:
            raise RunFailed("workflow-record-unfit", f"{kind} must be the number of a record", kind=kind)
        return await _keep(ctx, kind, number, given.origins, "_block/record")
    typed = ctx.run.args.get(TEXT)
    if typed is not None and str(typed.data).strip():
        found = await _read_answer(ctx, kind, typed.map(str), "_block/which/0")
        if found is not None:
            return found
    return await _ask(ctx, kind)


def read_number(kind: str, given: object) -> str | None:
    """Return the number of the record that a number, a text such as 481, or a key such as deal:481 names; None if it names none."""
    if isinstance(given, int) and not isinstance(given, bool):
        return str(given) if given > 0 else None
    written = given.strip() if isinstance(given, str) else ""
    if found := _NUMBER.fullmatch(written):
        return found[1]
    if (found := _KEY.fullmatch(written) or _LINK.fullmatch(written)) and found[1].lower() == kind:
        return found[2]
    return None


async def _keep(ctx: RunContext, kind: str, number: str, origins: Origins, node: str) -> Chosen:
    """Return the record after noting its number as a value of its own: in a key or a link nobody finds the number that a person gave."""

    async def note() -> str:
        return number

    kept = await ctx.memo(node, note, origins=origins)
    return Chosen(record=Record(kind=kind, number=number), origins=kept.origins)


async def _ask(ctx: RunContext, kind: str) -> Chosen:
    question = Ask(notice=Notice(code="workflow-record-which", args={"kind": kind}), takes=frozenset({"text"}))
    for number in range(1, MOST_TRIES + 1):
        heard = await ctx.wait_input(f"_block/which/{number}", question)
        found = await _read_answer(ctx, kind, heard.value.map(str), f"_block/which/{number}")
        if found is not None:
            return found
    raise RunFailed("workflow-record-unfit", f"no answer named a {kind}", kind=kind)


async def _read_answer(ctx: RunContext, kind: str, typed: Value, node: str) -> Chosen | None:
    """Return the record that words name, None after saying why they do not name one."""
    words = " ".join(typed.data.split())[:_LONGEST_NAME]
    number = read_number(kind, words)
    if number is not None:
        return await _keep(ctx, kind, number, typed.origins, f"{node}/record")
    rows = await _search(ctx, kind, Value(words, typed.origins), node)
    if rows is None:
        await ctx.say(build_reply(Notice(code="workflow-records-away", args={"name": words})), key=f"{node}/unfit")
        return None
    same = [one for one in rows if find_title(one).casefold() == words.casefold()]
    if len(same) == 1 or len(rows) == 1:
        return Chosen(record=Record(kind=kind, number=str((same or rows)[0]["ID"])), origins=typed.origins | UNDECLARED)
    if not 1 < len(rows) <= MOST_OFFERED:
        code = "workflow-record-none" if not rows else "workflow-record-many"
        await ctx.say(build_reply(Notice(code=code, args={"kind": kind, "name": words, "count": len(rows)})), key=f"{node}/unfit")
        return None
    options = tuple(Option(label=f"{find_title(one)[:_LONGEST_LABEL]} (№ {one['ID']})", value=str(one["ID"])) for one in rows)
    question = Ask(notice=Notice(code="workflow-record-several", args={"kind": kind, "name": words}), options=options)
    heard = await ctx.wait_input(f"{node}/one", question)
    return Chosen(record=Record(kind=kind, number=str(heard.value.data)), origins=heard.value.origins | typed.origins)


async def _search(ctx: RunContext, kind: str, words: Value, node: str) -> Sequence[Mapping[str, Any]] | None:
    """Return the records whose name holds the words, of those that the person may see; newest first, at most a page.

    None if none was found and the portal has not answered each time.
    """
    is_answered = True
    for place, wanted in _list_filters(kind, words):
        params = {"filter": wanted, "select": list(_SELECT.get(kind, _USUAL)), "order": {"ID": "DESC"}}
        outcome = await ctx.submit(f"{node}/{place}", RunEffect(method=ENTITIES[kind].list_method, params=params, must_read=True))
        rows = outcome.result if outcome.status == "succeeded" and isinstance(outcome.result, list) else []
        if found := [one for one in rows if isinstance(one, Mapping) and str(one.get("ID", "")).isdecimal()]:
            return found
        is_answered &= outcome.status != "refused"
    return () if is_answered else None


def _list_filters(kind: str, words: Value) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """Yield (name, filter) of each search, one after another: contacts keep the first and the last name in fields of their own."""
    for field in _SEARCHED.get(kind, ("TITLE",)):
        yield field.lower(), {f"%{field}": words}
    first, _, last = words.data.partition(" ")
    if kind == "contact" and last:
        one, other = Value(first, words.origins), Value(last, words.origins)
        yield "name_first", {"%NAME": one, "%LAST_NAME": other}
        yield "name_last", {"%LAST_NAME": one, "%NAME": other}
