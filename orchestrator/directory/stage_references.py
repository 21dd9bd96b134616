"""Resolves "@stage:Переговоры" and "@category:Опт", without guessing."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, assert_never

from orchestrator.directory import ranking
from orchestrator.directory.answers import Option, RecordRow, Resolution, Resolved, Unresolved, build_choice, build_guess
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference import ReferenceContext
from orchestrator.directory.reference_data import Category, Stage
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject


class StageReferences:
    """May raise BitrixError."""

    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        self._reads = reads
        self._reference = reads.reference
        self._naming = naming

    async def resolve_stage(self, words: str, place: ReferenceContext) -> Resolution:
        entity = self._naming.find_entity(place.method, place.params)
        entity = entity if entity == "lead" or entity.startswith("item:") else "deal"

        def chosen(stages: Sequence[Stage]) -> ranking.Match[Stage]:
            return ranking.find_match(words, _number_named(stages), me=None)

        stages = await self._reference.load_stages(
            entity,
            await self._find_category(entity, place.params),
            fresh=place.is_write(self._reads.catalogue),
            has=lambda stages: not isinstance(chosen(stages), ranking.NoMatch),
        )
        ranked = chosen(stages)
        known = ", ".join(stage.name for stage in stages)
        match ranked:
            case ranking.OneMatch():
                return Resolved(value=ranked.found.item.id, label=ranked.found.item.name, named_by_person=True)
            case ranking.SeveralMatches():
                choices = tuple(Option(value=candidate.item.id, label=candidate.item.name) for candidate in ranked.candidates)
                return build_choice(Notice(code="which-stage", args={"name": words}), choices)
            case ranking.NoMatch() if near := ranking.find_nearest(words, _number_named(stages), me=None):
                choices = tuple(Option(value=candidate.item.id, label=candidate.item.name) for candidate in near)
                return build_guess("nearest-stage", words, choices)
            case ranking.TooManyMatches() | ranking.NoMatch():
                notice = Notice(code="stage-not-found", args={"name": words, "known": known})
                return Unresolved(notice=notice, detail=f"no stage is called {words!r}; there are: {known}")
            case _:
                assert_never(ranked)

    async def _find_category(self, entity: str, params: JsonObject) -> int | None:
        """Of the parameters, else of the call's record; None is the default."""
        if entity == "lead":
            return None
        for place in ("fields", "filter"):
            values = params.get(place)
            if isinstance(values, Mapping):
                number = values.get("CATEGORY_ID", values.get("categoryId"))
                if number is not None and str(number).isdecimal():
                    return int(number)
        number = params.get("id") or params.get("ID")
        if number is None or not str(number).isdecimal():
            return None
        record = (await self._reads.load_records([(entity, int(number))]))[entity, int(number)]
        return RecordRow.model_validate(record or {}).category_id

    async def resolve_category(self, words: str, place: ReferenceContext) -> Resolution:
        entity = self._naming.find_entity(place.method, place.params)

        def chosen(items: Sequence[Category]) -> ranking.Match[Category]:
            return ranking.find_match(words, _number_named(items), me=None)

        items = await self._reference.load_categories(
            entity if entity.startswith("item:") else "deal",
            fresh=place.is_write(self._reads.catalogue),
            has=lambda items: isinstance(chosen(items), ranking.OneMatch),
        )
        ranked = chosen(items)
        if isinstance(ranked, ranking.OneMatch):
            return Resolved(value=ranked.found.item.id, label=ranked.found.title, named_by_person=True)
        near = ranking.find_nearest(words, _number_named(items), me=None) if isinstance(ranked, ranking.NoMatch) else ()
        if near:
            return build_guess("nearest-category", words, tuple(Option(value=one.item.id, label=one.title) for one in near))
        known = ", ".join(item.name for item in items)
        return Unresolved(
            notice=Notice(code="category-not-found", args={"name": words, "known": known}),
            detail=f"no single funnel is called {words!r}; there are: {known}",
        )


NamedT = TypeVar("NamedT", Stage, Category)


def _number_named(items: Sequence[NamedT]) -> list[ranking.Candidate[NamedT]]:
    """Counted from 1: a funnel's own id may be 0."""
    return [ranking.Candidate(id=number, title=item.name, item=item) for number, item in enumerate(items, start=1)]
