"""Cuts off the thinking that some models write into their answer, in front of what they have to say: <think>…</think>.

Services with a parser for it send it in a field of its own, `reasoning_content` or `reasoning`, which is not read at all.
"""

import re
from dataclasses import replace
from typing import Final

from orchestrator.domain.models import ModelAnswer, OnDelta, UnusableAnswer

_NAMES: Final = ("think", "thinking", "thought", "reasoning")
_OPENED: Final = re.compile(r"\s*<(?:think|thinking|thought|reasoning)[ ]?>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"</(?:think|thinking|thought|reasoning)[ ]?>\s*", re.IGNORECASE)
_NO_ANSWER: Final = "The model only thought and wrote no answer: raise max_tokens, or lower reasoning_effort."


def drop_thinking(answer: ModelAnswer) -> ModelAnswer:
    """Return the answer without the thinking at its beginning. Raises UnusableAnswer if there is nothing else.

    Some chat templates put the opening tag into the prompt, so that only the closing one comes.
    """
    text = answer.text
    begun, closed = _OPENED.match(text), _CLOSED.search(text)
    if begun is None and (closed is None or "<think" in text[: closed.start()].lower()):
        return answer
    rest = text[closed.end() :] if closed is not None else ""
    if not rest.strip() and not answer.calls:
        raise UnusableAnswer(_NO_ANSWER, answer=answer)
    return replace(answer, text=rest)


class ThinkingFilter:
    """Passes the pieces of a streamed answer on, without the thinking at its beginning.

    If only a closing tag comes, the pieces before it have been passed on; the finished answer does not have them.
    """

    def __init__(self, on_delta: OnDelta) -> None:
        """Pass the pieces to `on_delta`."""
        self._on_delta = on_delta
        self._held = ""
        self._over = False

    async def take(self, piece: str) -> None:
        """Take the next piece; what may still be thinking is held."""
        if not self._over:
            self._held += piece
            piece = self._release()
        if piece:
            await self._on_delta(piece)

    def _release(self) -> str:
        """Return what is certainly answer of the text that is held, "" if nothing is yet."""
        if _OPENED.match(self._held) is not None:
            closed = _CLOSED.search(self._held)
            if closed is None or closed.end() == len(self._held):  # blanks may follow it
                return ""
            return self._let_go(closed.end())
        begun = self._held.lstrip().lower()
        if not begun or any(f"<{name}".startswith(begun) or begun in {f"<{name}", f"<{name} "} for name in _NAMES):
            return ""
        return self._let_go(0)

    def _let_go(self, start: int) -> str:
        self._over = True
        rest, self._held = self._held[start:], ""
        return rest
