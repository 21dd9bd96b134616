"""Killed at every point in turn, a conversation ends with nothing done twice, nothing lost and nobody told anything wrong.

The short form walks the points after which the world differs (a commit is durable, a request is out, an answer is in, a message is
delivered); the long form walks both sides of every write and every request, other conversations, and second deaths.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from crash_faults import FAULTS
from crash_lab import AFTER_LEASE, KILLED, LATER, SETTLED, Lab, Run
from crash_servers import BATCH, CHOICE, CREATE, SCRIPT, UPDATE

pytestmark = pytest.mark.xdist_group("crash")

SHORT = ("commit.after", "send", "ask.after", "outbox_sent.before", "put_inbox.after")
LONG = ("commit", "send", "look", "ask", "outbox_sent", "put_inbox", "next_inbox", "acquire")
MOST = 400


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    made = Lab(tmp_path_factory.mktemp("crash"))
    yield made
    made.close()


def finish(lab: Lab, run: Run) -> None:
    """The next lives: one as soon as the lease is over, one when the portal has settled, one to see that nothing is left."""
    for shift in (AFTER_LEASE, SETTLED, LATER):
        assert lab.live(run, shift=shift) == 0


def killed_everywhere(lab: Lab, kinds: tuple[str, ...], script: tuple[str, ...] = SCRIPT, faults: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """For each point in turn: where it died, and what was wrong in the end; stops with the first life that nothing killed."""
    for at in range(1, MOST):
        with lab.run(script, faults) as run:
            if lab.live(run, shift=0.0, kill_at=at, kinds=kinds) != KILLED:
                return
            finish(lab, run)
            yield run.where(), run.faults_found()
    msg = "there seems to be no end of points"
    raise AssertionError(msg)


def test_a_conversation_that_nobody_kills(lab: Lab) -> None:
    """Each wish is done once, each card pressed twice runs once, the model is asked four times."""
    with lab.run() as run:
        assert lab.live(run, shift=0.0) == 0
        assert run.faults_found() == []
        assert [method for method, _ in run.around.portal.ledger] == ["crm.deal.update", "crm.deal.add", "crm.deal.update", "crm.deal.update"]
        assert run.around.asked == [(UPDATE, 0), (CREATE, 0), (CREATE, 1), (BATCH, 0)]
        finish(lab, run)
        assert run.faults_found() == []
        assert len(run.around.portal.ledger) == 4


@pytest.mark.req("G1", "G2", "S004-A2")
def test_killed_at_every_point(lab: Lab) -> None:
    """No second write for one approval, no input lost, no answer asked for twice, the truth told, the journal whole."""
    found = {f"{number} {where}": faults for number, (where, faults) in enumerate(killed_everywhere(lab, SHORT), start=1)}
    assert len(found) > 30
    assert {where: faults for where, faults in found.items() if faults} == {}


@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_the_lab_has_teeth(lab: Lab, fault: str) -> None:
    """A safeguard taken away is noticed at some point."""
    script = (CREATE, UPDATE)
    assert any(faults for _, faults in killed_everywhere(lab, SHORT, script, (fault,)))


@pytest.mark.crash_long
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", [SCRIPT, (CHOICE,), (CREATE, UPDATE, CHOICE, BATCH)], ids=["seed", "choice", "all"])
def test_killed_on_both_sides_of_everything(lab: Lab, script: tuple[str, ...]) -> None:
    """Every write and every request, before and after; a name that the person had to choose too."""
    found = {f"{number} {where}": faults for number, (where, faults) in enumerate(killed_everywhere(lab, LONG, script), start=1)}
    assert len(found) > 40
    assert {where: faults for where, faults in found.items() if faults} == {}


@pytest.mark.crash_long
@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("second", range(1, 12))
def test_killed_again_while_it_recovers(lab: Lab, second: int) -> None:
    """The next life dies too, at its own point number so-and-so."""
    wrong: dict[str, list[str]] = {}
    for at in range(1, MOST):
        with lab.run((UPDATE, CREATE)) as run:
            if lab.live(run, shift=0.0, kill_at=at, kinds=SHORT) != KILLED:
                break
            lab.live(run, shift=AFTER_LEASE, kill_at=second, kinds=SHORT)
            for shift in (2 * AFTER_LEASE, SETTLED + AFTER_LEASE, LATER + AFTER_LEASE):
                assert lab.live(run, shift=shift) == 0
            if faults := run.faults_found():
                wrong[f"{at} {run.where()}"] = faults
    assert wrong == {}


def test_the_folder_of_a_run_holds_nothing_else(lab: Lab, tmp_path: Path) -> None:
    """Runs do not see each other."""
    with lab.run() as first, lab.run() as second:
        assert first.folder != second.folder
        assert tmp_path not in first.folder.parents
