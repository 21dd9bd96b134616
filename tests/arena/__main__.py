"""`make arena`: plays all tasks and attacks, with WORKBENCH=folder the recorded runs too; writes docs/arena.md, fails if a bar is missed."""

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.arena.cases import Case, list_attack_cases, list_cases_of, load_tasks
from tests.arena.play import Played, Stage, play
from tests.arena.summary import PAGE, REPEATED, Replay, build_runs_table, build_table, list_missed, list_missed_replays, replace_part
from tests.arena.workbench import build_stage, load_runs, write_seed

KINDS = ("lead", "deal")
SHOWN = 60


def play_alone(case: Case, *, stage: Stage) -> Played:
    """Play one case in a loop of its own."""
    logging.disable(logging.CRITICAL)
    return asyncio.run(play(case, stage))


def play_all(cases: Sequence[Case], stage: Stage) -> list[Played]:
    """Play cases in as many processes as there are processors."""
    sys.stdout.write(f"playing {len(cases)} cases ...\n")
    sys.stdout.flush()
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        return list(pool.map(partial(play_alone, stage=stage), cases, chunksize=4))


def play_own() -> list[Played]:
    """Play all tasks and attacks of this folder."""
    tasks, means = load_tasks()
    return play_all([*(case for task in tasks for case in list_cases_of(task)), *list_attack_cases()], Stage(means))


def play_recorded(folder: Path, kind: str) -> tuple[list[Replay], list[Played]]:
    """Replay the recorded runs of a folder with its customers as leads or deals, and its gold answers in one plan each."""
    with tempfile.TemporaryDirectory() as place:
        seed = Path(place) / "seed.json"
        write_seed(folder, kind, seed)
        runs, golds = load_runs(folder, kind)
        played = play_all([*(run.case for run in runs), *golds], build_stage(seed))
    return [Replay(run, one) for run, one in zip(runs, played, strict=False)], played[len(runs) :]


def main() -> int:
    """Play, print and write; returns 1 if a bar is missed."""
    own = play_own()
    parts, missed = {"own": build_table(own)}, list_missed(own)
    if folder := os.environ.get("WORKBENCH"):
        for kind in KINDS:
            replays, golds = play_recorded(Path(folder), kind)
            parts[f"workbench {kind}s"] = build_runs_table(replays, golds)
            missed += [*list_missed_replays(replays), *list_missed(golds)]
    page = PAGE.read_text(encoding="utf-8")
    for name, table in parts.items():
        sys.stdout.write(f"\n{name}\n{table}\n")
        page = replace_part(page, name, table)
    PAGE.write_text(page, encoding="utf-8")
    missed.sort(key=lambda line: line.endswith(REPEATED))
    sys.stdout.write("\n".join(["", *missed[:SHOWN], f"{len(missed)} bars are missed" if missed else "all bars hold", ""]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
