"""Counts over dialogues: requests, clean and noisy ones, cards for each writing request, follow-ups and wrong records."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.dialogues.checks import list_cards, list_noise, list_problems
from tests.dialogues.player import Played
from tests.unit.runtime.ordinary_kit import load_requests, play


@dataclass
class Figures:
    """What is counted."""

    requests: int = 0
    clean: int = 0
    noisy: int = 0
    followups: int = 0
    wrong: int = 0
    """Follow-ups after which another record was changed, or another was read, than the dialogue expects."""
    cards: Counter[int] = field(default_factory=Counter)
    """How many writing requests led to how many cards."""
    prompts: int = 0


def measure(played: Sequence[Played]) -> Figures:
    """Count over these dialogues."""
    figures = Figures(prompts=sum(len(one.asked) for one in played))
    for one in played:
        faulty = {problem.split(" ")[1] for problem in list_problems(one)}
        for number, turn in enumerate(one.turns, start=1):
            if not turn.turn.say:
                continue
            cards = list_cards(one, number)
            figures.requests += 1
            figures.noisy += bool([*list_noise(turn)]) or len(cards) > 1
            figures.clean += str(number) not in faulty
            figures.followups += turn.turn.follows
            figures.wrong += turn.turn.follows and str(number) in faulty
            if turn.turn.cards is not None:
                figures.cards[len(cards)] += 1
    return figures


async def play_ordinary() -> Counter[int]:
    """Return how many of the ordinary requests of the corpus lead to how many cards."""
    cards: Counter[int] = Counter()
    for request in (*load_requests("ordinary_requests.yaml"), *load_requests("spoken_requests.yaml")):
        with tempfile.TemporaryDirectory() as folder:
            cards[(await play(request, Path(folder))).cards] += 1
    return cards


def build_table(played: Sequence[Played], ordinary: Counter[int]) -> str:
    """Return the figures as lines for people; `ordinary` says how many requests outside of dialogues led to how many cards."""
    found = measure(played)
    writing = sum(found.cards.values())
    return "\n".join(
        (
            f"dialogues            {len(played)}",
            f"requests             {found.requests} ({found.prompts} prompts)",
            f"  clean              {found.clean}",
            f"  noisy              {found.noisy}",
            f"writing requests     {writing}; cards: {_format_cards(found.cards)}",
            f"  outside of these   {ordinary.total()}; cards: {_format_cards(ordinary)}",
            f"follow-ups           {found.followups}",
            f"  at a wrong record  {found.wrong}",
        )
    )


def _format_cards(cards: Counter[int]) -> str:
    return ", ".join(f"{count} with {number}" for number, count in sorted(cards.items()))
