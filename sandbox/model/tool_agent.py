"""Answers the tool agent: whether a request is one for it, which of its tools to call, and a haiku."""

import re
from collections.abc import Sequence

from sandbox.model.choosing import Offer
from sandbox.model.lexicon import load
from sandbox.model.reading import Message, content_of, last_user_content
from sandbox.model.script import ToolCall


def answer_tool_agent(messages: Sequence[Message]) -> str | None:
    """Return the answer to a request of the tool agent, None if the request is none of these. All but work in the CRM is for it."""
    instructions = _read_instructions(messages)
    classify, haiku = load("tool_agent")["classify"], load("tool_agent")["haiku"]
    if classify["asked"] in instructions:
        is_refused = re.search(classify["refused"], last_user_content(messages), re.IGNORECASE)
        return str(classify["refusal" if is_refused else "answer"])
    if haiku["asked"] in instructions:
        theme = last_user_content(messages)
        return next(str(one["answer"]) for one in haiku["answers"] if re.search(one["theme"], theme, re.IGNORECASE))
    return None


def choose_tool(offer: Offer, messages: Sequence[Message]) -> ToolCall | None:
    """Return the call of the tool that the words of the last message mean, None if the tool agent does not ask, or without its tools."""
    if load("tool_agent")["select"]["asked"] not in _read_instructions(messages):
        return None
    message = last_user_content(messages)
    for name, words in load("tool_agent")["tools"].items():
        function = next((one for one in offer.functions if one.get("name") == name), None)
        found = re.search(words, message, re.IGNORECASE | re.DOTALL)
        if function is not None and found is not None:
            parameter = next(iter(function["parameters"]["properties"]))
            return ToolCall(name=name, arguments={parameter: found["rest"].strip(' \n?!.,:«»"')})
    return None


def _read_instructions(messages: Sequence[Message]) -> str:
    return "\n".join(content_of(one) for one in messages if one.get("role") == "system")
