"""Cards of effects on a Mongo database; every value that will be sent has its place there. Plain values are drawn alike for all kinds."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo

from orchestrator.domain.card_view import PreviewLine
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.kinds.mongo import ID, count_matches
from orchestrator.gate.call.kinds.mongo_methods import MANY
from orchestrator.gate.call.kinds.mongo_queries import COMPARISONS, is_typed, parse_moment
from orchestrator.gate.preview.format_values import Reader
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, quote
from state.canonical import dumps
from state.stored import JsonObject

_KIND_WORDS: Final = load_lexicon("card_kinds")
_PLAIN_TITLES: Final = {name: _KIND_WORDS.read_titles(name) for name in ("empty", "yes", "no", "inside")}
Field = tuple[str, str]
"""Title and value of a field."""


def format_plain_value(value: Any, reader: Reader) -> str:
    """Hidden signs become visible; a typed value such as {"$date": …} is what it says. What has no words is shown as sent."""
    if value is None or value in ("", [], {}):
        return _PLAIN_TITLES["empty"][reader.locale]
    if isinstance(value, bool):
        return _PLAIN_TITLES["yes" if value else "no"][reader.locale]
    if is_typed(value):
        ((kind, text),) = value.items()
        return (_format_moment(str(text), reader) if kind == "$date" else "") or _escape(str(text), reader)
    if isinstance(value, list) and all(isinstance(one, str | int | float) or is_typed(one) for one in value):
        return ", ".join(format_plain_value(one, reader) for one in value)
    return _escape(value if isinstance(value, str) else dumps(value), reader)


def list_plain_fields(value: Any, titles: Mapping[str, str], reader: Reader) -> list[Field]:
    """Also those inside of others, by the titles of their paths or their own names."""
    return list(_list_fields(value, "", "", titles, reader))


def _list_fields(value: Any, name: str, path: str, titles: Mapping[str, str], reader: Reader) -> Iterator[Field]:
    if isinstance(value, Mapping) and value and not is_typed(value):
        for key, inner_value in value.items():
            inner = f"{path}.{key}" if path else key
            title = _escape(titles.get(inner) or key, reader)
            yield from _list_fields(
                inner_value,
                _PLAIN_TITLES["inside"][reader.locale].format(outer=name, inner=title) if name else title,
                inner,
                titles,
                reader,
            )
    elif isinstance(value, list) and any(isinstance(inner_value, Mapping | list) for inner_value in value):
        for number, inner_value in enumerate(value, 1):
            yield from _list_fields(inner_value, f"{name} {number}".strip(), path, titles, reader)
    else:
        yield name, format_plain_value(value, reader)


def _format_moment(text: str, reader: Reader) -> str:
    try:
        here = parse_moment(text).astimezone(ZoneInfo(reader.zone))
    except (ValueError, OverflowError):
        return ""
    part = f".{here.microsecond:06d}".rstrip("0") if here.microsecond else ""
    seconds = f":{here:%S}{part}" if here.second or part else ""
    return f"{reader.format_day(here.date())}, {here:%H:%M}{seconds}"


def _escape(text: str, reader: Reader) -> str:
    return escape_text(text, locale=reader.locale)


_WORDS: Final = load_lexicon("card_mongo")
_LOCALES: Final[tuple[Locale, ...]] = ("ru", "en")
_NAMES: Final = (
    *("document", "numbered", "condition", "matches", "count", "gone", "same", "too_long"),
    *("and", "or", "neither", "not", "element", "id"),
)
_TITLES: Final = {name: _WORDS.read_titles(name) for name in _NAMES}
_CHANGES: Final = {locale: _WORDS.read_table("changes", locale) for locale in _LOCALES}
_COMPARISONS: Final = {locale: _WORDS.read_table("comparisons", locale) for locale in _LOCALES}
OTHER: Final = "$other"
"""In an image: a value without a form in JSON, or a document that is too long."""
_MISSING: Final = object()


def find_mongo_title(call: Call, facts: Facts, reader: Reader) -> str:
    return escape_text(facts.titles.get("") or str(call.params.get("collection", "")), locale=reader.locale, limit=80)


def build_mongo_lines(call: Call, facts: Facts, reader: Reader) -> list[PreviewLine]:
    words = _Words(reader, facts.titles)
    lines = list(_build_aim_lines(call, facts, words))
    if "document" in call.params:
        lines += words.build_field_lines(call.params["document"])
    if "documents" in call.params:
        documents = call.params["documents"]
        lines.append(words.build_line("count", str(len(documents))))
        numbered = _TITLES["numbered"][reader.locale]
        lines += [
            PreviewLine(field=f"documents.{number}", name=numbered.format(number=number), after=words.join_fields(document))
            for number, document in enumerate(documents, 1)
        ]
    image = _find_image(facts)
    if "update" in call.params:
        lines += [line for operator, fields in call.params["update"].items() for line in words.build_change_lines(operator, fields, image)]
    if call.spec.verb == "delete" and image is not None:
        lines += [words.build_line("document", _TITLES["too_long"][reader.locale])] if OTHER in image else words.build_field_lines(image)
    return lines


def _build_aim_lines(call: Call, facts: Facts, words: "_Words") -> Iterator[PreviewLine]:
    query = call.params.get("query")
    if query is None:
        return
    image = _find_image(facts)
    if query and (image is None or set(query) != {ID}):
        yield words.build_line("condition", words.describe_query(query))
    if call.method in MANY or (image is None and not call.reads_only):
        yield words.build_line("matches", str(count_matches(facts)))
    elif image is not None and call.spec.verb == "update":
        touched = {path.partition(".")[0] for fields in call.params["update"].values() for path in fields}
        known = {name: value for name, value in image.items() if name not in touched}
        yield words.build_line("document", words.join_fields(known) or words.format_value(image[ID]))


def _find_image(facts: Facts) -> JsonObject | None:
    image = next(iter(facts.images.values()), None)
    return image if image is not None and ID in image else None


class _Words:
    def __init__(self, reader: Reader, titles: Mapping[str, str]) -> None:
        self._reader, self._locale = reader, reader.locale
        self._titles = {**titles, ID: _TITLES["id"][reader.locale]}

    def build_line(self, title: str, text: str) -> PreviewLine:
        return PreviewLine(name=_TITLES[title][self._locale], after=text)

    def build_field_lines(self, document: JsonObject) -> list[PreviewLine]:
        return [
            PreviewLine(field=name, name=self.name_field(name), after=self.format_value(value))
            for name, value in document.items()
            if name != ID
        ]

    def build_change_lines(self, operator: str, fields: JsonObject, image: JsonObject | None) -> Iterator[PreviewLine]:
        for path, value in fields.items():
            old = _find_at_path(image, path) if image is not None else _MISSING
            if operator == "$unset":
                after = _TITLES["gone"][self._locale]
            elif operator == "$inc" and isinstance(old, int | float) and not isinstance(old, bool):
                step = f"{value:+}".replace("-", "−")
                after = f"{self.format_value(old + value)} ({step})"
            elif operator == "$set" and old is not _MISSING and old == value and type(old) is type(value):
                yield PreviewLine(field=path, name=self.name_field(path), after=self._format_same(value))
                continue
            else:
                after = _CHANGES[self._locale][operator].format(value=self.format_value(value))
            no_old = image is None or (old is _MISSING and operator not in {"$set", "$unset"})
            before = "" if no_old else self.format_value(None if old is _MISSING else old)
            yield PreviewLine(field=path, name=self.name_field(path), before=before, after=after)

    def join_fields(self, document: JsonObject) -> str:
        joined = (f"{self.name_field(name)}: {self._quote_value(value)}" for name, value in document.items() if name != ID)
        return _TITLES["and"][self._locale].join(joined)

    def _quote_value(self, value: Any) -> str:
        """A text that could pass for a further field stands in quotation marks."""
        text = self.format_value(value)
        is_alike = isinstance(value, str | list) and (":" in text or _TITLES["and"][self._locale].strip() in text)
        return quote(text, self._locale) if is_alike else text

    def describe_query(self, query: JsonObject) -> str:
        return _TITLES["and"][self._locale].join(self._describe_part(name, value) for name, value in query.items())

    def format_value(self, value: Any) -> str:
        """What is too long or has no form in JSON is said so."""
        if isinstance(value, Mapping) and OTHER in value:
            return _TITLES["too_long"][self._locale]
        return format_plain_value(value, self._reader)

    def _format_same(self, value: Any) -> str:
        return _TITLES["same"][self._locale].format(value=self.format_value(value))

    def name_field(self, path: str) -> str:
        return self.escape(self._titles.get(path) or path)

    def escape(self, text: str) -> str:
        return escape_text(text, locale=self._locale)

    def _describe_part(self, name: str, value: Any) -> str:
        if name in {"$and", "$or", "$nor"}:
            parts = [self.describe_query(one) for one in value]
            joined = _TITLES["and" if name == "$and" else "or"][self._locale].join(
                f"({part})" if len(parts) > 1 else part for part in parts
            )
            return _TITLES["neither"][self._locale].format(parts=joined) if name == "$nor" else joined
        title = self.name_field(name) if name else ""
        if not isinstance(value, Mapping) or is_typed(value) or not any(key.startswith("$") for key in value):
            return self._compare("$eq", title, value)
        return _TITLES["and"][self._locale].join(self._compare(operator, title, operand) for operator, operand in value.items())

    def _compare(self, operator: str, name: str, operand: Any) -> str:
        if operator == "$not":
            return _TITLES["not"][self._locale].format(part=self._describe_part(name, operand))
        if operator == "$elemMatch":
            is_comparison = next(iter(operand)) in COMPARISONS
            part = self._describe_part("", operand).strip() if is_comparison else self.describe_query(operand)
            return _TITLES["element"][self._locale].format(name=name, part=part)
        word = ("present" if operand else "absent") if operator == "$exists" else operator
        return _COMPARISONS[self._locale][word].format(name=name, value=self.format_value(operand))


def _find_at_path(tree: JsonObject, path: str) -> Any:
    place: Any = tree
    for step in path.split("."):
        if not isinstance(place, Mapping) or step not in place:
            return _MISSING
        place = place[step]
    return place
