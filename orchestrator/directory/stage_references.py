"""Resolves names of stages and funnels ("@stage:Переговоры", "@category:Опт") to their ids, by code and without guessing."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, assert_never

from orchestrator.directory import ranking
from orchestrator.directory.answers import Ambiguous, Option, Resolution, Resolved, Unresolved, build_guess
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference_context import ReferenceContext
from orchestrator.directory.reference_data import Category, Stage
from orchestrator.directory.rows import RecordRow
from orchestrator.domain.outputs import Notice
from state.stored import JsonObject


class StageReferences:
    """Resolves names of stages and funnels; its methods may raise BitrixError."""

    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        """Store the portal reader and the name finder."""
        self._reads = reads
        self._reference = reads.reference
        self._naming = naming

    async def resolve_stage(self, words: str, place: ReferenceContext) -> Resolution:
        """Return the stage that `words` name in the funnel that the call is about."""
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
        found = chosen(stages)
        known = ", ".join(stage.name for stage in stages)
        match found:
            case ranking.OneMatch():
                return Resolved(value=found.found.item.id, label=found.found.item.name, named_by_person=True)
            case ranking.SeveralMatches():
                choices = tuple(Option(value=candidate.item.id, label=candidate.item.name) for candidate in found.candidates)
                return Ambiguous(ask=Notice(code="which-stage", args={"name": words}), options=choices)
            case ranking.NoMatch() if near := ranking.find_nearest(words, _number_named(stages), me=None):
                choices = tuple(Option(value=candidate.item.id, label=candidate.item.name) for candidate in near)
                return build_guess("nearest-stage", words, choices)
            case ranking.TooManyMatches() | ranking.NoMatch():
                notice = Notice(code="stage-not-found", args={"name": words, "known": known})
                return Unresolved(notice=notice, detail=f"no stage is called {words!r}; there are: {known}")
            case _:
                assert_never(found)

    async def _find_category(self, entity: str, params: JsonObject) -> int | None:
        """Return the id of the funnel that a call concerns; None means the default funnel.

        It is the funnel named in the call's parameters. If they name none, it is the funnel of the record that the call is about.
        """
        if entity == "lead":
            return None
        for place in ("fields", "filter"):
            given = params.get(place)
            if isinstance(given, Mapping):
                number = given.get("CATEGORY_ID", given.get("categoryId"))
                if number is not None and str(number).isdecimal():
                    return int(number)
        number = params.get("id") or params.get("ID")
        if number is None or not str(number).isdecimal():
            return None
        record = (await self._reads.load_records([(entity, int(number))]))[entity, int(number)]
        return RecordRow.model_validate(record or {}).category_id

    async def resolve_category(self, words: str, place: ReferenceContext) -> Resolution:
        """Return the funnel that `words` name."""
        entity = self._naming.find_entity(place.method, place.params)

        def chosen(items: Sequence[Category]) -> ranking.Match[Category]:
            return ranking.find_match(words, _number_named(items), me=None)

        items = await self._reference.load_categories(
            entity if entity.startswith("item:") else "deal",
            fresh=place.is_write(self._reads.catalogue),
            has=lambda items: isinstance(chosen(items), ranking.OneMatch),
        )
        found = chosen(items)
        if isinstance(found, ranking.OneMatch):
            return Resolved(value=found.found.item.id, label=found.found.title, named_by_person=True)
        near = ranking.find_nearest(words, _number_named(items), me=None) if isinstance(found, ranking.NoMatch) else ()
        if near:
            return build_guess("nearest-category", words, tuple(Option(value=one.item.id, label=one.title) for one in near))
        known = ", ".join(item.name for item in items)
        return Unresolved(
            notice=Notice(code="category-not-found", args={"name": words, "known": known}),
            detail=f"no single funnel is called {words!r}; there are: {known}",
        )


NamedT = TypeVar("NamedT", Stage, Category)


def _number_named(items: Sequence[NamedT]) -> list[ranking.Candidate[NamedT]]:
    """Return stages or funnels as candidates for `ranking`, with ids counted from 1, since a funnel's own id may be 0."""
    return [ranking.Candidate(id=number, title=item.name, item=item) for number, item in enumerate(items, start=1)]
