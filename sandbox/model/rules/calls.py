"""Answers the prompts of the example run that prepares a call: a sentence for each theme, and the plan made of them."""

import re

from sandbox.model.answers import Answer, say
from sandbox.model.reading import Request

_PART = re.compile(r"^Подготовка к звонку\. Клиент: (?P<client>.*?)\. Тема: (?P<theme>[^.]+)\.")
_PLAN = re.compile(r"^План звонка\. Клиент: (?P<client>.*?)\. [^\n]*\n(?P<parts>.+)", re.DOTALL)
_THEMES = {"цель": "call.goal", "цена": "call.price", "следующий шаг": "call.next"}


def prepare_call(request: Request) -> Answer | None:
    """Return the answer to a prompt of that run, None for every other request. Of an unnamed client it speaks as of the client."""
    if plan := _PLAN.match(request.text):
        parts = "\n".join(f"{number}. {line.strip()}" for number, line in enumerate(plan["parts"].strip().splitlines(), 1))
        return Answer(
            rule="call.plan", say=say("call.plan", request.lang, client=plan["client"] or say("call.client", request.lang), parts=parts)
        )
    if part := _PART.match(request.text):
        key = _THEMES.get(part["theme"].strip(), "call.other")
        return Answer(rule=key, say=say(key, request.lang))
    return None
