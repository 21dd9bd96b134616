"""From a request to an answer: match rules at first, follow up or report once something was observed. Pure and deterministic."""

from dataclasses import replace

from sandbox.model.answers import Answer, say, write
from sandbox.model.lexicon import load
from sandbox.model.reading import Observation, Request
from sandbox.model.rules import after, gullible, talk
from sandbox.model.rules.book import FOLLOWERS, first
from sandbox.model.wishes import Target, Wish, wishes

_QUESTIONS = "which."


def reply(request: Request) -> tuple[str, str]:
    """The text of the answer and the name of the rule that gave it; the same request always gets the same answer."""
    answer = think(request)
    if request.dialect == "plain":
        return say("plain", request.lang, said=answer.say), answer.rule
    return write(answer, request.lang), answer.rule


def think(request: Request) -> Answer:
    """The answer of the rules, before it is written down."""
    request = _with_question_answered(request)
    parts = wishes(request)
    if request.observations:
        return _go_on(request, parts, request.observations[-1])
    return _begin(request, parts)


def _begin(request: Request, parts: tuple[Wish, ...]) -> Answer:
    whole = Wish(request.text or request.pasted, request.lang, request)
    if len(parts) > 1 and (joint := _several(parts)):
        return joint
    return first(whole) or talk.unknown(whole)


def _several(parts: tuple[Wish, ...]) -> Answer | None:
    """All simple wishes of a message as one plan; None when fewer than two of its parts are understood."""
    answers: list[tuple[Wish, Answer | None]] = []
    about: Target | None = None
    for part in parts:
        wish = replace(part, inherited=about)
        answer = first(wish)
        answers.append((wish, answer))
        about = _record_of(answer) or about
    good = [answer for _, answer in answers if answer and answer.steps and answer.rule not in FOLLOWERS]
    if len(good) < 2:
        return None
    later = [wish for wish, answer in answers if answer is None or answer not in good]
    said = [answer.say for answer in good] + [say("later", wish.lang, words=wish.text.strip(" .")) for wish in later]
    return Answer(rule="several", say="\n".join(said), steps=tuple(step for answer in good for step in answer.steps))


def _record_of(answer: Answer | None) -> Target | None:
    """The deal that a plan is about, so that the next wish may leave it unsaid."""
    for step in answer.steps if answer else ():
        fields = step.params.get("fields")
        place = fields.get("ENTITY_ID") if isinstance(fields, dict) else None
        record = step.params.get("id", step.params.get("ownerId", place))
        if isinstance(record, int | str) and step.method.startswith("crm."):
            return record
    return None


def _go_on(request: Request, parts: tuple[Wish, ...], seen: Observation) -> Answer:
    wish = Wish(request.text, request.lang, request)
    plan = _begin(replace(request, observations=()), parts)
    if after.stopped(seen):
        return after.report(wish, seen)
    follower = FOLLOWERS.get(plan.rule)
    if follower and len(request.observations) == 1 and (further := follower(wish, seen)):
        return further.named(plan.rule)
    if len(request.observations) == 1 and (fooled := gullible.fooled(wish, seen)):
        return fooled
    return after.report(wish, seen, headline=_headline(plan))


def _headline(plan: Answer) -> str:
    """The sentence over a list: the one that announced it."""
    return plan.say if plan.rule != "several" and len(plan.steps) == 1 and plan.steps[0].method.endswith(".list") else ""


def _with_question_answered(request: Request) -> Request:
    """The request with the person's earlier words in front, when our last message was a question and this one answers it."""
    if not _asked_back(request.said_before) or first(Wish(request.text, request.lang, request)):
        return request
    return replace(request, text=f"{request.asked_before.rstrip(' .!?')} {request.text}")


def _asked_back(said: str) -> bool:
    questions = (text for key, texts in load("speech").items() if key.startswith(_QUESTIONS) for text in texts.values())
    return any(question in said for question in questions)
