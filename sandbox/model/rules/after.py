"""Builds the answer after steps were executed, refused or held back: a report from their results, without new steps."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from sandbox.model.answers import Answer, say
from sandbox.model.lexicon import load
from sandbox.model.reading import Observation, ObservedStep
from sandbox.model.rules.documents import report_answer
from sandbox.model.text import Lang
from sandbox.model.wishes import Wish

_STOPPED = ("waiting", "planned", "unknown", "refused")
_LABELS = 6
_HEADER = re.compile(r"\bACTION\s*:", re.IGNORECASE)


def stopped(seen: Observation) -> bool:
    """Return whether any step did not succeed: it waits, failed or was refused. The model then proposes nothing more in this turn."""
    return any(step.status != "ok" for step in seen.steps)


def report(wish: Wish, seen: Observation, *, headline: str = "") -> Answer:
    """Return an answer with one sentence for each step in `seen`, the results of the latest steps.

    `headline` is the sentence above a list of found records.
    """
    lines = [line for number, step in enumerate(seen.steps, 1) if (line := _line(step, number, wish.lang, headline))]
    if any(step.status == "ok" and step.raw.get("created") for step in seen.steps):
        lines = [say("status.partly", wish.lang) if line == say("status.refused", wish.lang) else line for line in lines]
    told = list(dict.fromkeys(lines))
    return Answer(rule="after.stopped" if stopped(seen) else "after.done", say="\n".join(told) or say("done", wish.lang))


def stopped_report(wish: Wish, seen: Observation, *, earlier: Sequence[Observation]) -> Answer:
    """Return an answer that reports earlier results, and below them the latest results (`seen`), in which a step did not succeed.

    Of the earlier results only those are reported in which every step succeeded. This way the person sees a comment that was read, even if
    a later step was refused.
    """
    read = [report(wish, one).say for one in earlier if not stopped(one)]
    last = report(wish, seen)
    return replace(last, say="\n\n".join(dict.fromkeys([*read, last.say])))


def _line(step: ObservedStep, number: int, lang: Lang, headline: str) -> str:
    if step.method == "report":
        return headline if step.status == "ok" else say("ungrouped", lang)
    if step.status != "ok":
        status = step.status if step.status in _STOPPED else "refused"
        return say(f"status.{status}", lang, text=_one_line(step.text)).replace(" :", ":").strip()
    for ending, speak in _SPEAKERS.items():
        if step.method.endswith(ending):
            return speak(step, number, lang, headline)
    return say("done.record", lang, label=_labels(step)) if step.rows else say("done", lang)


def _listed(step: ObservedStep, number: int, lang: Lang, headline: str) -> str:
    if not step.rows:
        return say("nothing", lang)
    if len(step.rows) == 1 and not headline:
        return _card(step, number, lang, headline)
    return f"{headline or say('found', lang)}\n[[list {number}]]"


def _card(step: ObservedStep, _number: int, lang: Lang, _headline: str) -> str:
    if not step.rows:
        return say("nothing", lang)
    row = step.rows[0]
    lines = [_label(row)]
    if (closing := str(row.get("CLOSEDATE") or row.get("closedate") or ""))[:4].isdigit():
        lines.append(say("card.closing", lang, when=_day(closing, lang)))
    if written := _quoted(str(row.get("COMMENTS") or "")):
        lines.append(say("card.comment", lang, text=written))
    return "\n".join(lines)


def _comments(step: ObservedStep, _number: int, lang: Lang, _headline: str) -> str:
    # Text of others is quoted on one line each, so that no line of it can look like a header of the answer.
    written = [_quoted(str(row.get("COMMENT") or row.get("label") or "")) for row in step.rows]
    quoted = [f"> {line}" for line in written if line]
    return "\n".join([say("comments", lang), *quoted]) if quoted else say("comments.none", lang)


def _bindings(step: ObservedStep, _number: int, lang: Lang, _headline: str) -> str:
    known = [str(row.get("event", row.get("label", ""))) for row in step.rows]
    lines = list(dict.fromkeys(f"• {_event_name(code, lang)}" for code in known))
    return "\n".join([say("events.some", lang), *lines]) if lines else say("events.none", lang)


def _event_name(code: str, lang: Lang) -> str:
    """Return what happened to which kind of record ("сделка: изменение") for the code of an event ("ONCRMDEALUPDATE")."""
    words = load("events")
    record = next((name for start, name in words["records"].items() if code.upper().startswith(start)), None)
    deed = next((name for end, name in words["deeds"].items() if code.upper().endswith(end)), None)
    return f"{record[lang]}: {deed[lang]}" if record and deed else str(words["other"][lang])


def _history(step: ObservedStep, number: int, lang: Lang, _headline: str) -> str:
    return f"{say('history.some', lang)}\n[[list {number}]]" if step.rows else say("history.none", lang)


def _documents(step: ObservedStep, _number: int, lang: Lang, _headline: str) -> str:
    return "\n".join(map(_quoted, report_answer(step.text).splitlines())) or say("nothing", lang)


def _users(_step: ObservedStep, _number: int, _lang: Lang, _headline: str) -> str:
    return ""


_SPEAKERS: Mapping[str, Callable[[ObservedStep, int, Lang, str], str]] = {
    "timeline.comment.list": _comments,
    "event.get": _bindings,
    "user.get": _users,
    "history.of": _history,
    "ask_documents": _documents,
    ".list": _listed,
    ".get": _card,
}


def _labels(step: ObservedStep) -> str:
    return ", ".join(_label(row) for row in step.rows[:_LABELS])


def _label(row: Mapping[str, Any]) -> str:
    return _one_line(str(row.get("label") or row.get("TITLE") or row.get("NAME") or f"№{row.get('id', row.get('ID', '?'))}"))


def _day(written: str, lang: Lang) -> str:
    """Return the date at the start of an ISO moment as people of that language write it."""
    try:
        day = date.fromisoformat(written[:10])
    except ValueError:
        return written
    return f"{day:%d.%m.%Y}" if lang == "ru" else f"{day.day} {day:%b %Y}"


def _quoted(text: str) -> str:
    """Return a text of others on one line, cut before the word "ACTION:", with which a plan of steps begins.

    If this model quoted the plan, the plan would be read as a part of its own answer.
    """
    line = _one_line(text)
    header = _HEADER.search(line)
    return f"{line[: header.start()].rstrip()} […]" if header else line


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
