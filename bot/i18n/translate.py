"""Translates notices (a code with arguments) by the Fluent files of this folder.

A message is parsed when it is first needed: all take a quarter of a second.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final, Literal
from zoneinfo import ZoneInfo

from fluent.runtime import FluentBundle, FluentResource

from bot.plugins.loading import list_texts, note_fault
from orchestrator.directory.param_words import find_common_words, find_param_words
from orchestrator.domain.outputs import Notice
from orchestrator.language.date_format import format_short_day
from state.clock import parse_iso
from state.stored import JsonObject

_BEGINNING: Final = re.compile(r"^(-?[A-Za-z][A-Za-z0-9_-]*) *=", re.MULTILINE)
_REFERENCE: Final = re.compile(r"\{\s*(-?[A-Za-z][A-Za-z0-9_-]*)")


def list_messages(text: str) -> set[str]:
    """Without terms, which a language may have for itself."""
    return {name for name in _BEGINNING.findall(text) if not name.startswith("-")}


class Sentences:
    def __init__(self, locale: str, files: Iterable[str]) -> None:
        """Of two messages with one id the first counts."""
        self._bundle = FluentBundle([locale], use_isolating=False)
        self._unparsed: dict[str, str] = {}
        for text in files:
            self.add_file(text)

    def add_file(self, text: str) -> frozenset[str]:
        """Before any message is asked for; return ids that were there already, and stay."""
        begun = list(_BEGINNING.finditer(text))
        ends = [match.start() for match in begun[1:]] + [len(text)]
        known = frozenset(match[1] for match in begun if match[1] in self._unparsed)
        for match, end in zip(begun, ends, strict=True):
            self._unparsed.setdefault(match[1], text[match.start() : end])
        return known

    def has_message(self, code: str) -> bool:
        self._parse(code)
        return bool(self._bundle.has_message(code))

    def format_message(self, code: str, values: Mapping[str, object]) -> tuple[str, bool]:
        """Return (text, whether `values` were enough). Raises LookupError for an unknown id."""
        self._parse(code)
        pattern = self._bundle.get_message(code).value
        if pattern is None:
            return code, False
        try:
            text, errors = self._bundle.format_pattern(pattern, dict(values))
        except RecursionError:  # it names another sentence that names it
            return code, False
        return str(text), not errors

    def _parse(self, code: str) -> None:
        """With all that it refers to, once."""
        needed_texts: dict[str, str] = {}
        waiting = [code]
        while waiting:
            name = waiting.pop()
            text = self._unparsed.get(name)
            if text is not None and name not in needed_texts:
                needed_texts[name] = text
                waiting += _REFERENCE.findall(text)
        for text in needed_texts.values():
            self._bundle.add_resource(FluentResource(text))
        for name in needed_texts:  # last, so that other threads find each one here or in the bundle
            self._unparsed.pop(name, None)


Locale = Literal["ru", "en"]
_FOLDER = Path(__file__).parent
_TEXTS = "texts"
_PLAIN = (str, int, float)
_LONG = 2000
"""Longer values are inserted afterwards: Fluent gives «{???}» above 2500 characters."""
_OF_ENGINES = ("kind", "engine", "command")
"""Of such an argument NAME the message ID--NAME is taken before ID."""
_KIND_OF = "kind-of"
_NOTICE_KEYS = {"code", "args"}
"""Such an argument is a notice, and translated, too."""
_IDENTIFYING = frozenset({"id", "number", "employee", "record"})
"""Their numbers are printed as 999999, never as 999 999."""
_BETWEEN_TITLES: Mapping[Locale, str] = {"ru": "», «", "en": "”, “"}
"""Titles of a batch are one argument in Russian quotation marks."""
_QUOTED: Mapping[Locale, str] = {"ru": "«{}»", "en": "“{}”"}
_NUMBER = re.compile(r"№[0-9]+", re.ASCII)
_SERVICES: Mapping[str, str] = {"mongo": "database", "http": "site", "telegram": "telegram", "file": "files", "reminder": "own"}
_TITLE = re.compile(r"«([^«»]{1,200})»")
_COMMAND = re.compile(r"[^:\s]{1,100}: ")

_MARK = re.compile("\ue000(\\w+)\ue001")


class Translator:
    def __init__(self, locale: Locale, time_zone: str = "Europe/Moscow") -> None:
        self.locale: Locale = locale
        self._zone = ZoneInfo(time_zone)
        self._sentences = _load_sentences(locale)

    def translate(self, code: str, /, **args: object) -> str:
        """For an unknown code, the code itself."""
        return self._format(code, args)[0]

    def translate_complete(self, code: str, /, **args: object) -> str:
        """ "" if it needs more than `args`."""
        text, is_complete = self._format(code, args)
        return text if is_complete else ""

    def _format(self, code: str, args: Mapping[str, object]) -> tuple[str, bool]:
        """Return (sentence, whether it got all that it needs)."""
        code = self._choose_own_words(code, args)
        if not self._sentences.has_message(code):
            return code, False
        values = {key: self._format_value(key, value) for key, value in args.items()}
        if isinstance(at := args.get("at"), str):
            values["on"] = self._format_event_time(at) if at else ""
        if isinstance(method := args.get("method"), str):
            act = self.find_act(method)
            values |= {"act": act[:1].lower() + act[1:], "acted": "yes" if act else "no", "service": find_service(method)}
        values |= self._name_call(args)
        if isinstance(kind := args.get("kind"), str) and not code.startswith(_KIND_OF):
            values["kind_of"] = self.translate(_KIND_OF, kind=kind)
        if isinstance(title := values.get("title"), str):  # the number of a record whose title is not known is no title
            values["titled"] = title if _NUMBER.fullmatch(title) else _QUOTED[self.locale].format(title)
        long = {key: value for key, value in values.items() if isinstance(value, str) and len(value) > _LONG}
        marks = {key: f"\ue000{key}\ue001" for key in long}
        text, is_complete = self._sentences.format_message(code, values | marks)
        return _MARK.sub(lambda mark: long.get(mark[1], mark[0]), text) if long else text, is_complete

    def _choose_own_words(self, code: str, args: Mapping[str, object]) -> str:
        """Return ID--NAME if an engine or kind has its own words."""
        names = [name for of in _OF_ENGINES if isinstance(name := args.get(of), str)]
        own = (f"{code}--{name}" for name in names)
        return next((message for message in own if self._sentences.has_message(message)), code)

    def translate_notice(self, notice: Notice) -> str:
        return self.translate(notice.code, **notice.args)

    def has_message(self, code: str) -> bool:
        return self._sentences.has_message(code)

    def find_act(self, method: str) -> str:
        """Such as «Отвязать контакт от сделки»; "" if there is none."""
        code = build_act_code(method)
        return self.translate(code) if self.has_message(code) else ""

    def describe_call(self, method: str, verb: str, entity: str) -> str:
        """Of the method, otherwise of verb and kind of record; "" for none."""
        code = f"verb-{verb}-{entity}"
        return self.find_act(method) or (self.translate(code) if self.has_message(code) else "")

    def format_time(self, moment: str | datetime, now: datetime | None = None) -> str:
        """ "18:30", on another day than `now` «22.11 18:30» or "22 Nov 18:30"."""
        here = (parse_iso(moment) if isinstance(moment, str) else moment).astimezone(self._zone)
        today = (now or datetime.now(self._zone)).astimezone(self._zone).date()
        return f"{here:%H:%M}" if here.date() == today else f"{format_short_day(here.date(), self.locale)} {here:%H:%M}"

    def _name_call(self, args: Mapping[str, object]) -> JsonObject:
        """`doing` of the call and `called` of the parameter; "none" without one."""
        method, param = str(args.get("method") or ""), args.get("param")
        doing = self.describe_call(method, *split_method(method)) if method else ""
        param_name = find_param_name(param, method, self.locale) if isinstance(param, str) else ""
        return {"titles": args.get("titles", "none"), "doing": doing[:1].lower() + doing[1:] or "none", "called": param_name or "none"}

    def _format_event_time(self, moment: str) -> str:
        """ "в 18:30", on another day "22.11 в 18:30"."""
        day, _, hour = self.format_time(moment).rpartition(" ")
        return self.translate("event-on-day", day=day, hour=hour) if day else self.translate("event-at-hour", hour=hour)

    def _format_value(self, key: str, value: object) -> object:
        if key in _IDENTIFYING and isinstance(value, int) and value:  # a 0 stands for no record, and sentences ask for the number 0
            return str(value)
        if key == "at" and isinstance(value, str) and value:
            return self.format_time(value)
        if key == "title" and isinstance(value, str) and self.locale == "en":
            return value.replace(_BETWEEN_TITLES["ru"], _BETWEEN_TITLES["en"])
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Mapping) and value.keys() == _NOTICE_KEYS:
            return self.translate_notice(as_notice(value))
        if isinstance(value, list | tuple):
            return "; ".join(str(self._format_value("", item)) for item in value)
        return value if isinstance(value, _PLAIN) else str(value)


@cache
def _load_sentences(locale: Locale) -> Sentences:
    sentences = Sentences(locale, map(_read, sorted((_FOLDER / locale).glob("*.ftl"))))
    for engine, folder in list_texts().items():
        try:
            known = {code for path in sorted((folder / locale).glob("*.ftl")) for code in sentences.add_file(_read(path))}
            lacks = _find_lacks(folder)
        except (OSError, ValueError) as error:
            note_fault(engine, _TEXTS, f"its sentences cannot be read: {error}")
            continue
        if known:
            note_fault(engine, _TEXTS, f"its sentences {', '.join(sorted(known))} are not used: other sentences have these names")
        for reason in lacks:
            note_fault(engine, _TEXTS, reason)
    return sentences


def _find_lacks(folder: Path) -> list[str]:
    """Sentences that an engine has in the other language only."""
    ru, en = ({code for path in (folder / locale).glob("*.ftl") for code in list_messages(_read(path))} for locale in ("ru", "en"))
    if not ru and not en:
        return [f"there are no sentences in {folder}"]
    lacks = {"ru": en - ru, "en": ru - en}
    return [f"its sentences {', '.join(sorted(codes))} are missing in {locale}" for locale, codes in lacks.items() if codes]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def find_service(method: str) -> str:
    """Such as "database"; "portal" for the portal."""
    return _SERVICES.get(method.partition(".")[0], "portal")


def build_act_code(method: str) -> str:
    """ "act-crm-deal-contact-delete" for crm.deal.contact.delete."""
    return f"act-{method.lower().replace('.', '-')}"


def as_notice(data: JsonObject) -> Notice:
    """Raises pydantic's ValidationError."""
    return Notice.model_validate(data)


def find_param_name(param: str, method: str, locale: Locale) -> str:
    """ "" if there is none; in "c1: UF_CRM_1 «Площадка»" it is «Площадка»."""
    titled = _TITLE.search(param)
    if titled is not None:
        return titled[1]
    leaf = re.split(r"[.\[]", _COMMAND.sub("", param, count=1))[-1].rstrip("]")
    words = find_param_words(method, method.split(".")[-2] if "." in method else "", leaf) or find_common_words(leaf)
    name = words.names[locale] if words is not None else ""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]  # an abbreviation keeps its capitals


def split_method(method: str) -> tuple[str, str]:
    """("update", "deal") for crm.deal.update; ("", "") without a dot."""
    *_, entity, verb = ("", "", *method.lower().split("."))
    return verb, entity
