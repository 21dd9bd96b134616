"""Finds the record on which a run of a workflow works: the one that was given, or that its person names in the chat.

A name is looked up with the rights of that person, and nothing is guessed: of several records the person chooses one.
"""

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
from orchestrator.engines.runs import Ask, Option, RunContext, RunEffect, RunFailed
from orchestrator.engines.shared.declared import RECORDS
from orchestrator.engines.shared.launch import MOST_TRIES, PARAMETERS, TEXT

MOST_OFFERED: Final = 8
"""How many records a question offers; of more the person is asked to say more."""
_LONGEST_LABEL: Final = 60
_LONGEST_NAME: Final = 200
_SHOWN: Final = 100
"""How much of what was given is shown where it is refused."""
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


async def choose_record(ctx: RunContext, kind: str, words: RecordWords) -> Chosen:
    """Return the record that was given, or that the run's person names. `words` tell the address of the pages of this portal.

    Raises RunFailed if what was given names none, or if no answer does; RunSuspended while the person is asked.
    """
    if PARAMETERS in ctx.run.args:
        return await _take_given(ctx, kind, ctx.run.args[PARAMETERS], words)
    typed = ctx.run.args.get(TEXT)
    if typed is not None and str(typed.data).strip():
        answer = await _read_answer(ctx, kind, typed.map(str), "_block/which/0", words)
        if answer is not None:
            return answer
    return await _ask(ctx, kind, words)


async def _take_given(ctx: RunContext, kind: str, parameters: Value, words: RecordWords) -> Chosen:
    """Return the record that a program has given among the parameters. Raises RunFailed if it names none."""
    given = parameters.data.get(kind) if isinstance(parameters.data, Mapping) else None
    node = "_block/record"
    if isinstance(given, str) and await _names_another(ctx, kind, given.strip(), node, words):
        raise RunFailed(
            "workflow-record-elsewhere", f"parameters.{kind}: {given.strip()[:_SHOWN]!r} is no {kind} of this portal", kind=kind
        )
    number = read_number(kind, given)
    if number is None:
        told = "is missing" if given is None else f"is {str(given)[:_SHOWN]!r}"
        raise RunFailed("workflow-record-unfit", f"parameters.{kind} {told}: a number is needed, such as 481 or {kind}:481", kind=kind)
    return await _keep(ctx, kind, number, parameters.origins, node)


async def _names_another(ctx: RunContext, kind: str, written: str, node: str, words: RecordWords) -> bool:
    """Return whether a key or a link names a record of another kind, or a link one of another portal.

    The number would be that of a record here which nobody meant. What was kept under the node was read by an earlier program, and stays.
    """
    link = _LINK.fullmatch(written)
    found = link or _KEY.fullmatch(written)
    if found is None or (link is None and found[1].lower() not in RECORDS) or ctx.find_state(node) == "finished":
        return False
    if link is None or found[1].lower() != kind:
        return found[1].lower() != kind
    here = (await words.describe_record(ctx.actor, Record(kind=kind, number=found[2]), {})).url
    try:
        return bool(here) and urlsplit(written).hostname != urlsplit(here).hostname
    except ValueError:  # what looks like an address and is none
        return True


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
    """Return the record that words name, None after saying why they do not name one."""
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
    """Return the records whose name holds the words, of those that the person may see; newest first, at most a page.

    None if none was found and the portal has not answered each time.
    """
    is_answered = True
    for place, wanted in _list_filters(kind, words):
        params = {"filter": wanted, "select": list(_SELECT.get(kind, _USUAL)), "order": {"ID": "DESC"}}
        outcome = await ctx.submit(f"{node}/{place}", RunEffect(method=ENTITIES[kind].list_method, params=params, must_read=True))
        rows = outcome.result if outcome.status == "succeeded" and isinstance(outcome.result, list) else []
        if found := [row for row in rows if isinstance(row, Mapping) and str(row.get("ID", "")).isdecimal()]:
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
