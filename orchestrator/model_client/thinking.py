"""Cuts off <think>…</think> in front of an answer. Services that send thinking in a field of its own are not concerned."""

import re
from dataclasses import replace
from typing import Final

from orchestrator.domain.models import ModelAnswer, OnDelta, UnusableAnswer

_NAMES: Final = ("think", "thinking", "thought", "reasoning")
_OPENED: Final = re.compile(r"\s*<(?:think|thinking|thought|reasoning)[ ]?>", re.IGNORECASE)
_CLOSED: Final = re.compile(r"</(?:think|thinking|thought|reasoning)[ ]?>\s*", re.IGNORECASE)
_NO_ANSWER: Final = "The model only thought and wrote no answer: raise max_tokens, or lower reasoning_effort."


def drop_thinking(answer: ModelAnswer) -> ModelAnswer:
    """Raises UnusableAnswer if nothing else is left. Some templates give only the closing tag."""
    text = answer.text
    begun, closed = _OPENED.match(text), _CLOSED.search(text)
    if begun is None and (closed is None or "<think" in text[: closed.start()].lower()):
        return answer
    rest = text[closed.end() :] if closed is not None else ""
    if not rest.strip() and not answer.calls:
        raise UnusableAnswer(_NO_ANSWER, answer=answer)
    return replace(answer, text=rest)


class ThinkingFilter:
    """If only a closing tag comes, what was before it has been passed on."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._held = ""
        self._over = False

    async def take(self, piece: str) -> None:
        if not self._over:
            self._held += piece
            piece = self._release()
        if piece:
            await self._on_delta(piece)

    def _release(self) -> str:
        """Empty if nothing is certainly answer yet."""
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
