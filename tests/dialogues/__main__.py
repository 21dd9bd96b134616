"""`python -m tests.dialogues`: shows dialogues as they go now, accepts changed prompts, measures. It never writes an answer."""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path
from typing import TextIO

from tests.dialogues.checks import list_problems
from tests.dialogues.measure import build_table, play_ordinary
from tests.dialogues.player import Played, play_dialogue
from tests.dialogues.recording import find_recorded, name_fixed, read_recorded, split_fixed, write_prompts
from tests.dialogues.scripts import Dialogue, load_dialogues


def tell(text: str, stream: TextIO = sys.stdout) -> None:
    """Write a text and the end of its line, if there is any."""
    if text:
        stream.write(f"{text}\n")


def play_all(dialogues: Sequence[Dialogue]) -> list[Played]:
    """Play dialogues one after the other."""

    async def play() -> list[Played]:
        played = []
        for dialogue in dialogues:
            with tempfile.TemporaryDirectory() as folder:
                played.append(await play_dialogue(dialogue, Path(folder)))
        return played

    return asyncio.run(play())


def list_texts(played: Sequence[Played]) -> dict[str, str]:
    """Return the recorded texts of these dialogues as they are now: their prompts, and the fixed texts with which these begin."""
    texts: dict[str, str] = {}
    for one in played:
        for asked in one.asked[:1]:
            texts |= {name_fixed(text, one.dialogue.person): text for text in split_fixed(asked.prompt)[0]}
    return {**{one.dialogue.name: write_prompts(one.asked) for one in played}, **texts}


def show(played: Sequence[Played]) -> None:
    """Print what the person saw and the prompts, turn by turn."""
    for one in played:
        tell(f"######## {one.dialogue.name}: {one.dialogue.about}")
        tell(write_prompts(one.asked))
        for number, turn in enumerate(one.turns, start=1):
            tell(f"---- {number}. {turn.turn.say or '[' + turn.turn.press + ']'}")
            for shown in turn.shown:
                buttons = " ".join(f"[{label}]" for label, _ in shown.buttons)
                tell(f"<{shown.kind}{' again' if shown.replaces else ''}>\n{shown.text}\n{buttons}".rstrip())
            if turn.changed or turn.turn.after:
                tell(f"changed: {turn.changed or 'nothing'}")
        tell("\n".join(f"!! {problem}" for problem in list_problems(one)))


def accept(played: Sequence[Played]) -> None:
    """Print how the prompts differ from the recorded ones, and record them."""
    for name, text in list_texts(played).items():
        recorded = read_recorded(name)
        if recorded != text:
            sys.stdout.writelines(unified_diff(recorded.splitlines(True), text.splitlines(True), f"{name} recorded", f"{name} now", n=1))
            find_recorded(name).write_text(text, encoding="utf-8")


def main() -> int:
    """Run one of the commands; returns 1 if a dialogue does not go as its file says."""
    parser = argparse.ArgumentParser(prog="python -m tests.dialogues", description=__doc__)
    parser.add_argument("what", choices=("show", "accept", "measure"))
    parser.add_argument("names", nargs="*", help="beginnings of names of dialogues; all without one")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    known = load_dialogues()
    chosen = [one for name, one in known.items() if not given.names or name.startswith(tuple(given.names))]
    played = play_all(chosen)
    match given.what:
        case "show":
            show(played)
        case "accept":
            accept(played)
        case "measure":
            tell(build_table(played, asyncio.run(play_ordinary())))
    problems = [f"{one.dialogue.name}, {problem}" for one in played for problem in list_problems(one)]
    tell("\n".join(problems), sys.stderr)
    return 1 if problems or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
