"""What the person of a child does with buttons of features, and what they write in answer to a question. Imported by the child only."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid5

from state.clock import UUID_NAMESPACE
from state.journal.store import InboxRow
from tests.crash.lab_flows import LEAD
from tests.crash.lab_people import VERA
from tests.crash.lab_script import SESSION, Step

Body = Mapping[str, Any]
Lines = list[dict[str, Any]]
Make = Callable[..., InboxRow]


def acted(step: Step, name: str, lines: Lines, own: set[str], make: Make) -> list[InboxRow]:
    """The inputs of such a step; `own` are the numbers of what that part of the script asked for, `make` makes an input."""
    first = step.sources[0]
    match step.kind:
        case "forwarded":
            return [make("message", first, {"text": "", "quoted": step.text, "origin": "typed"})]
        case "value":
            ref = next(line["ref"] for line in reversed(lines) if line["kind"] == "edit" and line["body"]["what"] == "value")
            return [make("message", first, {"text": step.text, "origin": "typed", "reply_to": ref})]
        case "reason":
            return [make("message", first, {"text": step.text, "origin": "typed"}, session=LEAD, actor=VERA)]
        case _:
            pressed, late = begun(first, lines), first.endswith("-late")
            found = {what: words for what, words, fresh in _buttons(step.text, _shown(lines, own)) if fresh or late or what in pressed}
            return [_press(f"{source}/{what}", words, make) for source in step.sources for what, words in found.items()]


def begun(source: str, lines: Lines) -> set[str]:
    """What was pressed in that step before a death: handed in again, though it may look otherwise by now."""
    return {line["source"].rpartition("/")[2] for line in lines if line["kind"] == "offered" and line["source"].startswith(f"{source}/")}


def made_by(row: InboxRow) -> str:
    """The number of the request that a press makes, "" where it makes none."""
    words = row.body.get("words") or ("",)
    return uuid5(UUID_NAMESPACE, f"{SESSION}/{'/'.join(words)}").hex if words[0] == "forward" else ""


def _press(source: str, words: list[str], make: Make) -> InboxRow:
    lead = {"session": LEAD, "actor": VERA} if words[0] == "why" else {}
    return make("press", source, {"words": words, "callback_id": source, "message_id": 1}, **lead)


def _shown(lines: Lines, own: set[str]) -> Lines:
    """What of that part is on the screens now: of a message that was edited its last form."""
    seen = {(line["session"], line["key"] or line["row"]): line for line in lines if line["kind"] in {"card", "reply"}}
    return [line for line in seen.values() if str(line["body"].get("turn_id")).partition("+")[0] in own]


def _buttons(word: str, shown: Lines) -> Iterator[tuple[str, list[str], bool]]:
    """(what it is about, its words, whether it can be pressed now) of every such button: its first word, of an offer the last one too."""
    for line in shown:
        body: Body = line["body"]
        if line["kind"] == "reply":
            yield from ((effect, ["undo", effect], True) for effect in body["undo"] if word == "undo")
            made = (one["words"] for one in body["actions"])
            yield from (("-".join(words[1:]), words, True) for words in made if f"{words[0]} {words[-1]}" == word)
            continue
        number, home = body["confirmation_id"], body.get("home")
        match word:
            case "edit" if not home:
                yield number, ["edit", number], body["status"] == "requested"
            case "undo" if not home:
                yield body["effect_id"], ["undo", body["effect_id"]], bool(body.get("undo_until"))
            case "again" if not home:
                yield number, ["again", number], body["status"] in {"expired", "refused"}
            case "why" if home:
                yield number, ["why", number, body["nonce"], home.partition(":")[2].replace(":", ".")], body["status"] == "requested"
