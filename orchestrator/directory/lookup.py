"""References of the model ("@deal:Ромашка") become values, by code and never by guess. Ring 2.

One fits: used and named. Two to six: buttons. More: «Уточните». None: «Не нашёл». A choice names a record; it consents to nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from orchestrator.directory import ranking
from orchestrator.directory.answers import Option, Resolution, Resolved, Several, Unresolved
from orchestrator.directory.labels import user_label
from orchestrator.directory.naming import Naming
from orchestrator.directory.paradigms import shared_start
from orchestrator.directory.portal_reads import PortalReads, Row
from orchestrator.directory.stems import mentioned, tokens
from orchestrator.directory.values import resolve_date, resolve_sum
from orchestrator.messages import Actor, Notice
from state.clock import Clock

_SHORTEST = 3
_RECORDS = ("deal", "lead", "contact", "company", "task")
_CURRENT = {"deal": "current_deal_id", "contact": "current_contact_id", "company": "current_company_id", "task": "current_task_id"}


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a reference stands: the step around it, who speaks, and what they wrote."""

    method: str
    params: Mapping[str, Any]
    actor: Actor
    state: Mapping[str, Any]
    text: str


class Lookup:
    """See the module docstring; may raise BitrixError."""

    def __init__(self, reads: PortalReads, naming: Naming, clock: Clock) -> None:
        """Keep the parts."""
        self._reads = reads
        self._naming = naming
        self._clock = clock

    async def resolve(self, reference: str, place: Place) -> Resolution:
        """The meaning of `reference` in that place."""
        kind, _, words = reference[1:].partition(":")
        words = words.strip()
        match kind:
            case "me":
                return self._me(place)
            case "current":
                return self._current(place)
            case "user":
                return await self._user(words, place)
            case "stage":
                return await self._stage(words, place)
            case "category":
                return await self._category(words)
            case "date":
                return resolve_date(words, field=_field_of(reference, place.params), actor=place.actor, now=self._clock.now())
            case "sum":
                return resolve_sum(words, place.actor)
            case _:
                return await self.record(kind, words, place.actor, place.text)

    async def record(self, entity: str, words: str, actor: Actor, text: str) -> Resolution:
        """A record by its name or number among those the person may see."""
        found = await self._search(entity, words, actor)
        match found:
            case ranking.Found():
                number = int(found.row["id"])
                named = mentioned(words, text) or mentioned(str(found.row["title"]), text) or _says_number(text, number)
                label = await self._naming.label(entity, found.row["row"], actor.locale)
                return Resolved(value=number, label=label, target=f"{entity}:{number}", named=named)
            case ranking.Several():
                options = [await self._option(entity, row, actor) for row in found.rows]
                return Several(ask=Notice(code=f"which-{entity}", args={"name": words}), options=tuple(options))
            case ranking.TooMany():
                notice = Notice(code="too-many-found", args={"name": words, "count": found.count})
                return Unresolved(notice=notice, detail=f"{found.count} records fit {words!r}: the person must be more precise")
            case ranking.Nothing():
                notice = Notice(code="not-found", args={"name": words})
                return Unresolved(notice=notice, detail=f"no {entity} that this person may see is called {words!r}")
            case _:
                assert_never(found)

    async def named(self, titles: Mapping[str, str], text: str, actor: Actor) -> set[str]:
        """Those records of `titles` ("deal:481" → title) that the person's text names, and names alone."""
        found: set[str] = set()
        for target, title in list(titles.items())[:100]:
            if len(found) < 3 and mentioned(title, text):  # noqa: PLR2004 - a request names a few records, not dozens
                entity, number = target.split(":")
                answer = await self.record(entity, title, actor, text) if entity in _RECORDS else None
                if isinstance(answer, Resolved) and answer.value == int(number):
                    found.add(target)
        return found

    async def _search(self, entity: str, words: str, actor: Actor) -> ranking.Chosen:
        significant = sorted(tokens(words), key=len, reverse=True)
        number = words.lstrip("№# ")
        rows: list[Row] = []
        if number.isdecimal():
            record = (await self._reads.records([(entity, int(number))]))[entity, int(number)]
            rows = [record] if record is not None and self._naming.visible(entity, record, actor) else []
        if not rows and significant:
            extra = self._naming.owner_filter(entity, actor)
            rows = await self._reads.search(entity, _search_start(significant[0]), extra)
        return ranking.choose(words, [self._naming.rankable(entity, row) for row in rows], me=actor.bitrix_user_id)

    async def _option(self, entity: str, row: Mapping[str, Any], actor: Actor) -> Option:
        label = await self._naming.label(entity, row["row"], actor.locale)
        return Option(value=int(row["id"]), label=label, target=f"{entity}:{row['id']}")

    def _me(self, place: Place) -> Resolution:
        if place.actor.bitrix_user_id is None:
            return Unresolved(notice=Notice(code="no-bitrix-user"), detail="the speaker has no Bitrix24 user")
        return Resolved(value=place.actor.bitrix_user_id, label=place.actor.name, named=True)

    def _current(self, place: Place) -> Resolution:
        entity = self._naming.entity_of(place.method, place.params)
        number = place.state["agent"]["objects"].get(_CURRENT.get(entity, ""))
        if number is None:
            return Unresolved(notice=Notice(code="no-current"), detail=f"there is no current {entity or 'record'} in this conversation")
        return Resolved(value=int(number), target=f"{entity}:{number}", named=f"{entity}:{number}" in place.state["trusted"])

    async def _user(self, words: str, place: Place) -> Resolution:
        users = await self._reads.users()
        rows = [
            {"id": number, "title": f"{row.get('NAME') or ''} {row.get('LAST_NAME') or ''}".strip(), "row": row}
            for number, row in users.items()
            if row.get("ACTIVE") in (True, "Y", "true", None)
        ]
        found = ranking.choose(words, rows, me=place.actor.bitrix_user_id)
        match found:
            case ranking.Found():
                return Resolved(value=int(found.row["id"]), label=str(found.row["title"]), named=mentioned(words, place.text))
            case ranking.Several():
                options = tuple(Option(value=int(row["id"]), label=user_label(row["row"], locale=place.actor.locale)) for row in found.rows)
                return Several(ask=Notice(code="which-user", args={"name": words}), options=options)
            case ranking.TooMany():
                notice = Notice(code="too-many-found", args={"name": words, "count": found.count})
                return Unresolved(notice=notice, detail=f"{found.count} employees fit {words!r}")
            case ranking.Nothing():
                return Unresolved(
                    notice=Notice(code="user-not-found", args={"name": words}), detail=f"no active employee is called {words!r}"
                )
            case _:
                assert_never(found)

    async def _stage(self, words: str, place: Place) -> Resolution:
        entity = self._naming.entity_of(place.method, place.params)
        category = await self._category_of(entity, place.params)
        stages = await self._reads.stages("lead" if entity == "lead" else "deal", category)
        rows = [{"id": number, "title": stage.name} for number, stage in enumerate(stages, start=1)]
        found = ranking.choose(words, rows, me=None)
        known = ", ".join(stage.name for stage in stages)
        match found:
            case ranking.Found():
                stage = stages[int(found.row["id"]) - 1]
                return Resolved(value=stage.id, label=stage.name, named=True)
            case ranking.Several():
                chosen = [stages[int(row["id"]) - 1] for row in found.rows]
                options = tuple(Option(value=stage.id, label=stage.name) for stage in chosen)
                return Several(ask=Notice(code="which-stage", args={"name": words}), options=options)
            case ranking.TooMany() | ranking.Nothing():
                notice = Notice(code="stage-not-found", args={"name": words, "known": known})
                return Unresolved(notice=notice, detail=f"no stage is called {words!r}; there are: {known}")
            case _:
                assert_never(found)

    async def _category_of(self, entity: str, params: Mapping[str, Any]) -> int:
        if entity != "deal":
            return 0
        fields = params.get("fields") if isinstance(params.get("fields"), Mapping) else {}
        given = (fields or {}).get("CATEGORY_ID", (fields or {}).get("categoryId"))
        if given is not None and str(given).isdecimal():
            return int(given)
        number = params.get("id") or params.get("ID")
        if number is None or not str(number).isdecimal():
            return 0
        record = (await self._reads.records([("deal", int(number))]))["deal", int(number)] or {}
        return int(record.get("CATEGORY_ID") or 0)

    async def _category(self, words: str) -> Resolution:
        categories = await self._reads.categories()
        found = ranking.choose(words, [{"id": number, "title": name} for number, name in categories.items()], me=None)
        if isinstance(found, ranking.Found):
            return Resolved(value=int(found.row["id"]), label=str(found.row["title"]), named=True)
        known = ", ".join(categories.values())
        return Unresolved(
            notice=Notice(code="category-not-found", args={"name": words, "known": known}),
            detail=f"no single funnel is called {words!r}; there are: {known}",
        )


def _search_start(word: str) -> str:
    """What to look for: the beginning that all case forms share, before the first е, which a title may write ё."""
    start = shared_start(word)
    place = start.find("е")
    return start[:place] if place >= _SHORTEST else start


def _says_number(text: str, number: int) -> bool:
    return str(number) in tokens(text)


def _field_of(reference: str, value: Any, name: str = "") -> str:
    """The name of the field whose value is `reference`."""
    if value == reference:
        return name
    if isinstance(value, Mapping):
        return next((found for key, item in value.items() if (found := _field_of(reference, item, str(key)))), "")
    if isinstance(value, (list, tuple)):
        return next((found for item in value if (found := _field_of(reference, item, name))), "")
    return ""
