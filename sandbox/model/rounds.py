"""Divides a message into rounds: a plan for all wishes that need one plan, and one of its own for each that must read before it writes.

The turn goes on after the cards of a round are decided, so the wishes of the next round need not be asked for again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sandbox.model.answers import Answer, Step, say
from sandbox.model.reading import Request
from sandbox.model.rules import documents, talk
from sandbox.model.rules.book import FOLLOWERS, first
from sandbox.model.wishes import CREATED, Target, Wish, wishes

_LONGEST = 4096
_MAKERS: Mapping[str, str] = {
    "crm.deal.add": "deal",
    "crm.lead.add": "lead",
    "crm.contact.add": "contact",
    "crm.company.add": "company",
    "tasks.task.add": "task",
}
_ABOUT_SOMETHING = ("task.add", "reminder.add")


@dataclass(frozen=True, slots=True)
class Round:
    """One plan, its text, and the wish that it serves: a part of the message, or all of it."""

    answer: Answer
    wish: Wish
    unserved: tuple[str, ...] = ()
    """Of the last round: the words of the wishes that nothing serves. What its answer says of them is lost if its plan only reads."""


@dataclass(slots=True)
class _Division:
    """The rounds of a message while its wishes are read one after the other."""

    alone: list[Round] = field(default_factory=list)
    """The wishes that need two plans, to read and then to write."""
    joint: list[Round] = field(default_factory=list)
    """The wishes that one plan serves together."""
    unserved: list[str] = field(default_factory=list)
    must_split: bool = False
    """Whether a wish about a new record has to wait: the message as a whole would be understood wrongly."""
    inherited: Target | None = None
    kind: str = "deal"
    title: str = ""
    question: str = ""
    """What an earlier wish of the message asks the documents. A task or reminder without words of its own is about it."""

    def add(self, wish: Wish) -> None:
        """Find out what serves the wish. One that names no record is about that of the wish before it."""
        if wish.inherited is None:
            wish = replace(wish, inherited=self.inherited, kind=self.kind, title=self.title)
        answer = first(wish)
        if self.question and answer is not None and answer.rule in _ABOUT_SOMETHING and not answer.steps:
            wish = replace(wish, text=f"{wish.text}: {self.question}", said=wish.words)
            answer = first(wish)
        if answer is None or not answer.steps or (answer.rule in FOLLOWERS and wish.is_about_created):
            self.must_split = self.must_split or wish.is_about_created
            self.unserved.append(wish.words)
        elif answer.rule in FOLLOWERS:
            self.alone.append(Round(answer, wish))
        else:
            self.joint.append(Round(answer, wish))
        self._remember(wish, answer)

    def _remember(self, wish: Wish, answer: Answer | None) -> None:
        """Keep the record that the steps are about, or create. The next wish in the message may leave it out."""
        steps = answer.steps if answer else ()
        if answer is not None and answer.rule == documents.RULE:
            self.question = str(steps[0].params["question"])
        if len(steps) == 1 and steps[0].method in _MAKERS and not wish.is_about_created:
            number = sum(len(one.answer.steps) for one in self.joint)
            self.inherited, self.kind, self.title = f"{CREATED}{number}", _MAKERS[steps[0].method], _title_of(steps[0])
        elif not wish.is_about_created and (record := _record_of(steps)) is not None:
            self.inherited, self.title = record, ""
            self.kind = wish.kind if record == wish.inherited else "deal"


def divide(request: Request) -> tuple[Round, ...]:
    """Return the rounds of a message, at least one; the first has the answer with which the turn begins.

    It says which wishes come later, and asks the person to repeat those that nothing serves. A message that is longer than a Telegram
    message may be is not understood.
    """
    whole = Wish(request.text or request.pasted, request.lang, request)
    if len(whole.text) > _LONGEST:
        return (Round(talk.unknown(whole), whole),)
    parts = wishes(request)
    division = _Division()
    if len(parts) > 1:
        for part in parts:
            division.add(part)
    if len(division.joint) + len(division.alone) > 1 or (division.alone and len(parts) > 1) or division.must_split:
        return _build_rounds(division, whole)
    only = parts[0] if len(parts) == 1 and parts[0].row is not None else whole
    return (Round(first(only) or talk.unknown(only), only),)


def _build_rounds(division: _Division, whole: Wish) -> tuple[Round, ...]:
    joint = [_join(division.joint, whole)] if division.joint else []
    rounds = [*division.alone, *joint]
    later = [*division.alone, *division.joint] if division.alone else []
    words = [
        *(say("next", whole.lang, words=one.wish.words) for one in later[1:]),
        *(say("later", whole.lang, words=words) for words in division.unserved),
    ]
    opening = rounds[0].answer
    rounds[0] = replace(rounds[0], answer=replace(opening, say="\n".join([opening.say, *dict.fromkeys(words)])))
    return (*rounds[:-1], replace(rounds[-1], unserved=tuple(division.unserved)))


def _join(served: list[Round], whole: Wish) -> Round:
    """Return one round with the plans of several wishes."""
    if len(served) == 1:
        return served[0]
    said = "\n".join(dict.fromkeys(one.answer.say for one in served))
    return Round(Answer(rule="several", say=said, steps=tuple(step for one in served for step in one.answer.steps)), whole)


def _title_of(step: Step) -> str:
    fields = step.params.get("fields")
    if not isinstance(fields, dict):
        return ""
    return str(fields.get("TITLE") or " ".join(str(fields[key]) for key in ("NAME", "LAST_NAME") if key in fields))


def _record_of(steps: tuple[Step, ...]) -> Target | None:
    """Return the record of the CRM that the steps are about, or None."""
    for step in steps:
        fields = step.params.get("fields")
        place = fields.get("ENTITY_ID") if isinstance(fields, dict) else None
        record = step.params.get("id", step.params.get("ownerId", place))
        if isinstance(record, int | str) and step.method.startswith("crm."):
            return record
    return None
