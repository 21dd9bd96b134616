"""The card of a confirmation in each of its states (facts: telegram §5). Rendered from the stored request, never from the model. Ring 3."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.i18n.translate import Translator
from bot.rendering.replies import heading
from bot.rendering.spans import Span, Spans, bold, joined, plain, spans

MAX_ITEMS = 15
MAX_LINES = 40
MAX_BEFORES = 3
_MARKS = {"success": "✅ ", "error": "⚠️ ", "not_run": "⏸ ", "unknown": "❓ "}


def card_text(body: Mapping[str, Any], tr: Translator) -> Spans:
    """What the call does, before → after, why it asks, who asked, and how it stands."""
    preview = body.get("preview") or {}
    blocks = [spans(bold(heading(preview, body["method"], tr)))]
    changes = _lines(preview, tr) or _items(preview, body, tr)
    if changes:
        blocks.append(joined(changes, "\n"))
    if body["status"] == "requested":
        reasons = _reasons(body, tr)
        if reasons:
            blocks.append(spans(Span("; ".join(reasons), "italic")))
        asked = tr.say("card-asked-by", who=body.get("requested_by_name", ""), until=tr.clock(body["expires_at"]))
        blocks.append(spans(asked))
        if body.get("stage") == 2:  # noqa: PLR2004 - the second of two taps
            blocks.append(spans(bold(tr.say("card-sure"))))
    else:
        blocks.append(spans(bold(_state(body, tr))))
    return joined(blocks, "\n\n")


def _reasons(body: Mapping[str, Any], tr: Translator) -> list[str]:
    """Why it asks; the same reason for many commands of a batch is said once."""
    found: dict[str, list[str]] = {}
    for reason in body.get("reasons") or ():
        args = reason.get("args") or {}
        code = str(args.get("reason") or reason["code"]) if reason["code"] == "gate-batch-asks" else reason["code"]
        text = tr.say(code, **args)
        if text not in found.setdefault(code, []):
            found[code].append(text)
    return [texts[0] if len(texts) == 1 else tr.say("reason-more", text=texts[0], count=len(texts) - 1) for texts in found.values()]


def _lines(preview: Mapping[str, Any], tr: Translator) -> list[Spans]:
    lines = preview.get("lines") or ()
    rows = [_line(line) for line in lines[:MAX_LINES]]
    return [*rows, spans(tr.say("card-more", count=len(lines) - MAX_LINES))] if len(lines) > MAX_LINES else rows


def _line(line: Mapping[str, Any]) -> Spans:
    before = f"{line['before']} → " if line.get("before") else ""
    return spans(f"{line['name']}: {before}", bold(line["after"]))


def _items(preview: Mapping[str, Any], body: Mapping[str, Any], tr: Translator) -> list[Spans]:
    """Every command of a batch: one line each, or, when there are many, one line for all that do the same to their records."""
    items = preview.get("items") or []
    reports = {report["key"]: report for report in body.get("commands") or ()}
    if len(items) > MAX_ITEMS:
        return _grouped(items, reports, tr)
    rows = []
    for number, item in enumerate(items, start=1):
        changes = "; ".join(f"{line['name']}: {line['before'] or '—'} → {line['after']}" for line in item.get("lines") or ())
        mark = _mark(item, reports)
        rows.append(spans(f"{number}. {mark}", heading(item, item.get("method", ""), tr), f" — {changes}" if changes else ""))
    return rows


def _grouped(items: Sequence[Mapping[str, Any]], reports: Mapping[str, Mapping[str, Any]], tr: Translator) -> list[Spans]:
    """One line for all commands that do the same; what stood there before is said with its count where it differs."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for item in items:
        changes = (f"{line['name']} → {line['after']}" for line in item.get("lines") or ())
        words = plain(heading({**item, "title": ""}, item.get("method", ""), tr))
        groups.setdefault((words, *changes), []).append(item)
    return [_group(words, members, reports, tr) for (words, *_), members in groups.items()]


def _group(words: str, members: Sequence[Mapping[str, Any]], reports: Mapping[str, Mapping[str, Any]], tr: Translator) -> Spans:
    same = zip(*(item.get("lines") or () for item in members), strict=True)  # the members of a group have equally many lines
    changes = "; ".join(_change_of_all(lines, tr) for lines in same)
    names = [
        spans(_mark(item, reports), Span(str(item.get("title") or item.get("id") or "?"), url=str(item.get("url") or "")))
        for item in members
    ]
    return spans(bold(f"{words} × {len(members)}"), f" — {changes}: " if changes else ": ", joined(names, ", "))


def _change_of_all(lines: Sequence[Mapping[str, Any]], tr: Translator) -> str:
    """ "Ответственный: Анна (9), Вера (2) → Борис": the commonest values before, and how many others there are."""
    name, after = lines[0]["name"], lines[0]["after"]
    befores = Counter(str(line.get("before") or "") for line in lines)
    if set(befores) == {""}:
        return f"{name}: {after}"
    if len(befores) == 1:
        return f"{name}: {next(iter(befores))} → {after}"
    named = befores.most_common(MAX_BEFORES)
    said = [tr.say("card-group-before", value=value or "—", count=count) for value, count in named]
    if len(befores) > MAX_BEFORES:
        left = len(lines) - sum(count for _, count in named)
        said.append(tr.say("card-group-rest", kinds=len(befores) - MAX_BEFORES, count=left))
    return f"{name}: {', '.join(said)} → {after}"


def _mark(item: Mapping[str, Any], reports: Mapping[str, Mapping[str, Any]]) -> str:
    return _MARKS.get(str((reports.get(str(item.get("key"))) or {}).get("status", "")), "")


def _state(body: Mapping[str, Any], tr: Translator) -> str:
    status = body["status"]
    who = body.get("approved_by_name") or body.get("denied_by_name") or ""
    at = body.get(f"{status}_at") or ""
    match status:
        case "approved":
            return tr.say("card-running", who=who)
        case "denied":
            return tr.say("card-denied-by", who=who, at=at)
        case "refused":
            code = str(body.get("code") or "")
            if not code:  # nobody refused it: a look at the portal showed that it did not happen
                return tr.say("card-not-done")
            known = tr.say(code, **(body.get("args") or {})) if tr.knows(code) else str(body.get("detail") or "")
            return tr.say("card-refused", text=known)
        case "expired":
            return tr.say("card-expired-at", at=at)
        case "superseded":
            return tr.say("card-superseded-by")
        case "unknown":
            return tr.say("card-unknown")
        case _:
            return _executed(body, tr, who, at)


def _executed(body: Mapping[str, Any], tr: Translator, who: str, at: str) -> str:
    done = tr.say("card-executed", who=who, at=at)
    commands = body.get("commands") or []
    failed = [report for report in commands if report["status"] != "success"]
    if failed:
        return f"{done}\n{tr.say('card-partly', failed=len(failed), count=len(commands))}"
    return "\n".join([done, *_left_out(body.get("unchanged") or (), body.get("preview") or {}, tr)])


def _left_out(written: Sequence[str], preview: Mapping[str, Any], tr: Translator) -> Iterator[str]:
    """What the portal said yes to and did not do: a new record lacks it, an old one is as it was."""
    added: list[str] = []
    kept: list[str] = []
    for code in written:
        key, _, field = code.rpartition(": ")
        item = next((item for item in preview.get("items") or () if key and item.get("key") == key), preview)
        known = {line.get("field"): str(line["name"]) for line in item.get("lines") or ()}
        (added if item.get("verb") == "add" else kept).append(known.get(field) or code)
    if added:
        yield tr.say("not-taken", field=added[0], more=len(added) - 1)
    if kept:
        yield tr.say("card-unchanged", fields=", ".join(kept))
