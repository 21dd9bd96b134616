"""The answer from the passages found: by a model that has nothing else, or the passages themselves."""

import asyncio
import hashlib
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from orchestrator.domain.errors import SdelkaError, SettingsError
from orchestrator.domain.models import ModelOptions, ModelRequest, Models
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale
from orchestrator.services.rag.access import AccessProblem
from orchestrator.services.rag.document import clean_title
from orchestrator.services.rag.index.port import FileRecord, Hit

_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
_KINDS: Final = frozenset({"expected", "found"})


def find_locale(text: str) -> Locale:
    """For an answer to `text`."""
    return "ru" if _CYRILLIC.search(text) or not any(sign.isalpha() for sign in text) else "en"


def say(key: str, locale: Locale) -> str:
    return load_lexicon("documents").read_text("answers", key, locale)


def describe_problem(file: FileRecord, locale: Locale) -> str:
    """Empty for a document that is read."""
    if file.problem is None:
        return ""
    words = load_lexicon("documents")
    details = {
        name: words.read_text("kinds", value, locale) if name in _KINDS else clean_title(value)
        for name, value in file.problem.details.items()
    }
    return words.read_text("problems", file.problem.code, locale).format(name=file.name, **details)


def describe_access(problem: AccessProblem, locale: Locale) -> str:
    details = {name: clean_title(value) for name, value in problem.details.items()}
    return load_lexicon("documents").read_text("access_problems", problem.code, locale).format(**details)


def describe_source(hit: Hit, locale: Locale) -> str:
    """«price.xlsx, лист «Прайс», строки 12–14, от 28.11.2026»."""
    place, words = hit.place, load_lexicon("documents")
    parts = [hit.name]
    if place is not None and place.part in {"sheet", "clause"} and place.name:
        parts.append(words.read_text("places", place.part, locale).format(name=place.name))
    if place is not None and place.first:
        what = "row" if place.part == "sheet" else place.part
        number = str(place.first) if place.last <= place.first else f"{place.first}–{place.last}"
        parts.append(words.read_text("places", what if place.last <= place.first else f"{what}s", locale).format(number=number))
    if hit.read_at:
        day = datetime.fromtimestamp(hit.read_at / 1e9, tz=UTC)
        parts.append(words.read_text("places", "day", locale).format(day=f"{day:%d.%m.%Y}"))
    return ", ".join(parts)


AnsweredBy = Literal["model", "passages", "nothing"]
FindModels = Callable[[str], Models]
"""By the person's name, "" for nobody: the cost is counted to them."""
_PROMPT: Final = Path(__file__).resolve().parents[3] / "data" / "rag" / "answer.md"
_NOTHING: Final = "NOT_IN_DOCUMENTS"
_CITATION: Final = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_LONGEST: Final = 4_000
_MOST_REMEMBERED: Final = 500
_OPTIONS: Final = ModelOptions(temperature=0.001, max_tokens=700)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAnswer:
    """The answer, who made it, and by which model."""

    text: str
    answered_by: AnsweredBy
    model: str = ""
    plain: str = ""
    """Without cited titles and passages, which stand beside it."""


class AnswerWriter:
    """Answers of models are remembered by question, passages and model."""

    def __init__(self, find_models: FindModels | None, seconds: float = 7.0) -> None:
        """None: there is no model. Raises SettingsError."""
        self._find_models, self._seconds = find_models, seconds
        self._remembered: OrderedDict[str, WrittenAnswer] = OrderedDict()
        try:
            self._prompt = _PROMPT.read_text(encoding="utf-8")
        except OSError:
            raise SettingsError(f"{_PROMPT.name} is missing; copy the data folder of this version") from None

    async def write(
        self, question: str, hits: Sequence[Hit], asked_by: str, *, is_fitting: bool, unknown: Sequence[str] = ()
    ) -> WrittenAnswer:
        """`is_fitting`: the passages may be shown as the answer. Codes that stand nowhere are said to be `unknown` before all else."""
        answer = await self._write(question, hits, asked_by, is_fitting=is_fitting and not unknown)
        if not unknown:
            return answer
        told = say("unknown", find_locale(question)).format(codes=", ".join(map(clean_title, unknown)))
        if answer.answered_by == "nothing":
            return replace(answer, text=told, plain=told)
        return replace(answer, text=f"{told}\n{answer.text}", plain=f"{told}\n{answer.plain or answer.text}")

    async def _write(self, question: str, hits: Sequence[Hit], asked_by: str, *, is_fitting: bool) -> WrittenAnswer:
        if not hits:
            return self._write_nothing(question)
        if self._find_models is not None:
            answer = await self._ask(question, hits, self._find_models(asked_by))
            if answer is not None and (answer.answered_by == "model" or not is_fitting):
                return answer
            if answer is not None:  # passages that have the question's words are not hidden behind «the documents do not say this»
                return _write_passages(question, hits, "near", answer.model)
        return _write_passages(question, hits) if is_fitting else self._write_nothing(question)

    @staticmethod
    def _write_nothing(question: str, model: str = "") -> WrittenAnswer:
        return WrittenAnswer(text=say("nothing", find_locale(question)), answered_by="nothing", model=model)

    async def _ask(self, question: str, hits: Sequence[Hit], models: Models) -> WrittenAnswer | None:
        """None if the model fails or takes too long."""
        request = ModelRequest(
            messages=self._build_messages(question, hits), role="tool", options=_OPTIONS, prose=True, within=self._seconds
        )
        try:
            key = _build_key(question, hits, models.find_model_name(request))
            if key in self._remembered:
                self._remembered.move_to_end(key)
                return self._remembered[key]
            async with asyncio.timeout(self._seconds):
                answer = await models.chat(request)
        except (SdelkaError, TimeoutError) as error:
            reason = str(error) or "too slow"
            log.warning("documents: no answer of a model (%s); the passages are shown", reason, extra={"action": "documents_no_answer"})
            return None
        written_answer = self._read_answer(question, hits, answer.text, answer.model)
        if written_answer is not None:
            self._remembered[key] = written_answer
            if len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return written_answer

    def _build_messages(self, question: str, hits: Sequence[Hit]) -> list[dict[str, str]]:
        marker = secrets.token_hex(6)
        passages = "\n\n".join(
            f"[{number}]\n<<<DATA {marker}\n{_defuse(hit.title)}\n{_defuse(hit.text)}\nDATA {marker}>>>"
            for number, hit in enumerate(hits, 1)
        )
        return [
            {"role": "system", "content": self._prompt.replace("{marker}", marker)},
            {"role": "user", "content": f"{passages}\n\nQuestion: {_defuse(question)}"},
        ]

    def _read_answer(self, question: str, hits: Sequence[Hit], text: str, model: str) -> WrittenAnswer | None:
        """Cited titles stand for numbers; None for an empty text."""
        if _NOTHING in text:
            return self._write_nothing(question, model)
        numbers = [int(one) for found in _CITATION.findall(text) for one in found.split(",")]
        cited = [hits[number - 1].title for number in dict.fromkeys(numbers) if 0 < number <= len(hits)]
        plain = _CONTROL.sub("", _CITATION.sub("", text)).strip()[:_LONGEST]
        if not plain:
            return None
        titles = "; ".join(dict.fromkeys(cited or [hit.title for hit in hits]))
        sources = f"{say('sources', find_locale(question))}: {titles}."
        return WrittenAnswer(text=f"{plain}\n{sources}", answered_by="model", model=model, plain=plain)


def _write_passages(question: str, hits: Sequence[Hit], opening_key: str = "passages", model: str = "") -> WrittenAnswer:
    passages = "\n\n".join(f"{hit.title}\n{hit.shown or hit.text}" for hit in hits)
    opening = say(opening_key, find_locale(question))
    return WrittenAnswer(text=f"{opening}\n\n{passages}", answered_by="passages", plain=opening, model=model)


def _defuse(text: str) -> str:
    """Without marks that could end a fence."""
    return _CONTROL.sub("", text).replace("<<<", "‹‹‹").replace(">>>", "›››")


def _build_key(question: str, hits: Sequence[Hit], model: str) -> str:
    parts = (model, " ".join(question.lower().split()), *(part for hit in hits for part in (hit.title, hit.text)))
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()
