"""Resolves "@user:Анна из отдела продаж", without guessing."""

import re
from collections.abc import Mapping, Sequence
from typing import assert_never

from bitrix.errors import BitrixError
from orchestrator.directory import ranking
from orchestrator.directory.answers import Option, Resolution, Resolved, Unresolved, User, build_choice, build_guess
from orchestrator.directory.labels import format_user_label
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.directory.reference import ReferenceContext, is_employed
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.title_matching import is_mentioned

_DEPARTMENT_SUFFIX = re.compile(rf"(?<=\w)\s+(?:{load_lexicon('records').join_patterns('of_department')})\s+(.+)$", re.IGNORECASE)


class PersonReferences:
    """May raise BitrixError."""

    def __init__(self, reads: PortalReader, naming: Naming) -> None:
        self._catalogue = reads.catalogue
        self._reference = reads.reference
        self._naming = naming

    async def resolve_user(self, words: str, place: ReferenceContext) -> Resolution:
        """Of namesakes the person chooses."""
        name, department = _split_department(words)
        inside = await self._find_departments(department) if department else None

        query, me = name if inside is not None else words, place.actor.bitrix_user_id

        def list_candidates(users: Mapping[int, User], *, employed: bool = True) -> list[ranking.Candidate[User]]:
            return [
                ranking.Candidate(id=user.id, title=user.full_name, item=user)
                for user in users.values()
                if is_employed(user) is employed and (inside is None or inside & _parse_numbers(user.departments))
            ]

        def chosen(users: Mapping[int, User]) -> ranking.Match[User]:
            return ranking.find_match(query, list_candidates(users), me=me)

        users = await self._reference.load_users(has=lambda users: not isinstance(chosen(users), ranking.NoMatch))
        ranked = chosen(users)
        near = ranking.find_nearest(query, list_candidates(users), me=me) if isinstance(ranked, ranking.NoMatch) else ()
        if (
            isinstance(ranked, ranking.OneMatch)
            and place.is_write(self._catalogue)
            and not await self._reference.is_active(ranked.found.id)
        ):
            ranked = ranking.NoMatch()
        if isinstance(ranked, ranking.NoMatch):
            left = ranking.find_match(query, list_candidates(users, employed=False), me=me)
            if place.is_write(self._catalogue):
                return (
                    _refuse(words, left) if isinstance(left, ranking.OneMatch) or not near else await self._guess(words, near, place.actor)
                )
            ranked = left
        return await self._answer(words, ranked, near, place)

    async def _answer(
        self, words: str, ranked: ranking.Match[User], near: Sequence[ranking.Candidate[User]], place: ReferenceContext
    ) -> Resolution:
        match ranked:
            case ranking.OneMatch():
                return Resolved(value=ranked.found.id, label=ranked.found.title, named_by_person=is_mentioned(words, place.text))
            case ranking.SeveralMatches():
                options = await self._build_user_options(ranked.candidates, place.actor)
                return build_choice(Notice(code="which-user", args={"name": words}), options)
            case ranking.TooManyMatches():
                notice = Notice(code="too-many-found", args={"name": words, "count": ranked.count})
                return Unresolved(notice=notice, detail=f"{ranked.count} employees fit {words!r}")
            case ranking.NoMatch() if near:
                return await self._guess(words, near, place.actor)
            case ranking.NoMatch():
                return _refuse(words, ranked)
            case _:
                assert_never(ranked)

    async def _guess(self, words: str, near: Sequence[ranking.Candidate[User]], actor: Actor) -> Resolution:
        return build_guess("nearest-user", words, await self._build_user_options(near, actor))

    async def _build_user_options(self, candidates: Sequence[ranking.Candidate[User]], actor: Actor) -> tuple[Option, ...]:
        departments = [await self._naming.find_department_name(candidate.item) for candidate in candidates]
        pairs = zip(candidates, departments, strict=True)
        return tuple(Option(value=one.id, label=format_user_label(one.item, department=name, locale=actor.locale)) for one, name in pairs)

    async def _find_departments(self, words: str) -> frozenset[int] | None:
        """None if the words name no department."""
        try:
            departments = await self._reference.load_departments()
        except BitrixError:  # departments need a permission of their own: without it the words count as part of the name
            return None
        numbers = frozenset(
            number for number, item in departments.items() if is_mentioned(item.name, words) or is_mentioned(words, item.name)
        )
        return numbers or None


def _refuse(words: str, left: ranking.Match[User]) -> Unresolved:
    if isinstance(left, ranking.OneMatch):
        notice = Notice(code="user-left", args={"name": left.found.title})
        return Unresolved(notice=notice, detail=f"{left.found.title} has left the company; the name works in filters of lists only")
    return Unresolved(notice=Notice(code="user-not-found", args={"name": words}), detail=f"no active employee is called {words!r}")


def _split_department(words: str) -> tuple[str, str]:
    """«Анна из отдела продаж» → («Анна», «отдела продаж»)."""
    match = _DEPARTMENT_SUFFIX.search(words)
    return (words[: match.start()].strip(), match[1]) if match else (words, "")


def _parse_numbers(value: object) -> frozenset[int]:
    return frozenset(int(item) for item in value if str(item).isdecimal()) if isinstance(value, list) else frozenset()
