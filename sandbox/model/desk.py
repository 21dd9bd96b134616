"""Makes the answers of the server, first from the answers queued by a test, then from the rules. It stores the requests for tests."""

import itertools
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sandbox.model.choosing import Offer, choose, read_offer
from sandbox.model.faults import SPOILING, Fault, Faults, spoiled
from sandbox.model.flow_agents import answer_flow_agent
from sandbox.model.passages import answer_from_passages
from sandbox.model.reading import content_of, last_user_content, read
from sandbox.model.script import Heard, Provider, Script, ScriptedAnswer
from sandbox.model.thinking import reply
from sandbox.model.tool_agent import answer_tool_agent, choose_tool
from sandbox.model.wire import ChatBody, Completion, tokens

KEPT: Final = 1000
"""The number of requests kept for `GET /sandbox/requests`."""


@dataclass(frozen=True, slots=True)
class Made:
    """A finished answer, with the fault (if any) that must still spoil it while it is sent."""

    completion: Completion
    fault: Fault | None
    streams: bool = False
    """Whether it was asked for as a stream."""


class Desk:
    """The state of one model server: the answers queued by a test, the ordered faults, and the last 1000 requests."""

    def __init__(self, now: Callable[[], float]) -> None:
        """Start with empty queues. `now` returns the Unix time for the timestamps of answers."""
        self._now = now
        self._numbers = itertools.count(1)
        self._seen: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self.script = Script()
        self.faults = Faults()

    def answer(self, body: ChatBody, fault: Fault | None, trace: str | None = None, provider: Provider = "openai") -> Made:
        """Return the answer to a chat request, and store request and answer for tests.

        An answer queued by a test is used first. If `fault` will spoil it, it stays in the queue, so that a retry gets it. `trace` is the
        trace id of the request.
        """
        offer = read_offer(body.model_dump())
        found, rule = self._find_answer(body, offer, fault, provider)
        sent, finish = spoiled(fault, found.text)
        calls = () if fault and fault.kind in {"empty", "no_format"} else found.tool_calls
        if finish == "stop":
            finish = found.finish or ("stop" if not calls else "function_call" if offer.legacy else "tool_calls")
        number = self.note(body.messages, answer=sent, rule=rule, fault=fault, stream=body.stream, trace=trace, provider=provider)
        made = Completion(
            id=f"chatcmpl-demo-{number}",
            created=int(self._now()),
            text=sent,
            finish=finish,
            prompt_tokens=sum(tokens(content_of(message)) for message in body.messages),
            tool_calls=calls,
            raw_arguments=found.raw_arguments if calls else None,
            legacy=offer.legacy,
        )
        return Made(completion=made, fault=fault, streams=body.stream)

    def _find_answer(self, body: ChatBody, offer: Offer, fault: Fault | None, provider: Provider) -> tuple[ScriptedAnswer, str]:
        """Return the scripted answer or that of a rule, and the name of what gave it."""
        request = read(body.messages)
        heard = Heard(
            last=(request.text, request.pasted, last_user_content(body.messages)),
            every="\n".join(content_of(message) for message in body.messages),
            model=body.model,
            provider=provider,
            tools=offer.names,
        )
        if (scripted := self.script.next(heard)) is not None:
            if fault and fault.kind in SPOILING:
                self.script.put_back(scripted[1])
            return scripted[0], "script"
        if (flow_answer := answer_flow_agent(offer, body.messages)) is not None:
            return flow_answer, "flow_agent"
        last = last_user_content(body.messages)
        if body.messages[-1].get("role") not in {"tool", "function"} and (call := choose_tool(offer, body.messages) or choose(offer, last)):
            return ScriptedAnswer(tool_calls=(call,)), "function"
        if (answer := answer_from_passages(body.messages)) is not None:
            return ScriptedAnswer(text=answer), "documents"
        if (answer := answer_tool_agent(body.messages)) is not None:
            return ScriptedAnswer(text=answer), "tool_agent"
        text, rule = reply(request)
        return ScriptedAnswer(text=text), rule

    def note(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        answer: str | None,
        rule: str,
        fault: Fault | None,
        stream: bool,
        trace: str | None = None,
        provider: Provider = "openai",
    ) -> int:
        """Store a request with its answer for tests and return its number. `answer` is None if nothing was answered.

        `rule` is the name of the rule that answered, `stream` says whether the request asked for a streamed answer, and `trace` is its
        trace id. `provider` is the API of the request.
        """
        number = next(self._numbers)
        self._seen.append(
            {
                "n": number,
                "messages": [dict(message) for message in messages],
                "answer": answer,
                "rule": rule,
                "fault": fault.kind if fault else None,
                "stream": stream,
                "trace": trace,
                "provider": provider,
            }
        )
        return number

    def requests(self, after: int) -> dict[str, Any]:
        """Return the chat requests that the server received, with their answers, for `GET /sandbox/requests`; oldest first.

        Only the last 1000 are stored, and only those with a number above `after` are returned. `last` is the number of the newest one.
        """
        found = [item for item in self._seen if item["n"] > after]
        return {"requests": found, "last": self._seen[-1]["n"] if self._seen else 0}
