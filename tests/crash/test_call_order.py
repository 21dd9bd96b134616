"""The order of the calls: flushed before acknowledged, intended before sent. Killing cannot see a missing flush; the order does."""

from dataclasses import replace

import pytest

from tests.crash.lab_checks import findings
from tests.crash.lab_order import WAL, unflushed
from tests.crash.lab_script import SINGLE, TURNS
from tests.crash.lab_shim import Traced
from tests.crash.lab_walk import Lab, death

SENT = Traced(op="send", what="/rest/1/lab/crm.deal.add")
STARTED = "commit(CallStarted,->started)"


@pytest.mark.req("G1", "G2", "S004-A2")
@pytest.mark.parametrize("script", [*SINGLE, *TURNS])
async def test_flushed_first(script: str, shimmed: Lab) -> None:
    """Every write of the store is on the disk when it comes back, and every change of the portal has its intent there."""
    run = await shimmed.untouched(script)  # whose findings hold the order too
    assert list(unflushed(run.trace)) == []
    stored = [call for call in run.trace if call.op == "mark" and call.what.endswith(":after") and not call.what.startswith("send(")]
    flushed = [call for call in run.trace if call.op == "flush" and call.what == WAL]
    assert len(flushed) >= len([call for call in stored if call.what.startswith(("commit(", "put_inbox"))]) > 0


@pytest.mark.req("G2")
@pytest.mark.parametrize("fault", ["no_flush", "lazy_flush"])
async def test_only_the_order_shows_a_missing_flush(fault: str, shimmed: Lab) -> None:
    """With flushing turned off no death finds anything, and the order of the calls does."""
    quiet = await shimmed.run("sum", fault=fault, kills=[death("send(crm.deal.update):acted")])
    assert findings(replace(quiet, trace=())) == []
    found = findings(quiet)
    assert [text for text in found if "before the write-ahead log was flushed" in text] != []
    shimmed.fault(caught=found != [])


@pytest.mark.parametrize(
    ("trace", "wrong"),
    [
        ((Traced(op="mark", what=f"{STARTED}:after"), SENT), 0),
        ((SENT,), 1),
        ((Traced(op="mark", what=f"{STARTED}:after"), SENT, SENT), 1),
        ((Traced(op="write", what=WAL), Traced(op="mark", what="put_inbox:after")), 1),
        ((Traced(op="write", what=WAL), Traced(op="flush", what=WAL), Traced(op="mark", what="put_inbox:after")), 0),
        ((Traced(op="write", what=WAL), Traced(op="flush", what=WAL, trouble="s"), Traced(op="mark", what="put_inbox:after")), 1),
        ((Traced(op="mark", what=f"{STARTED}:after"), Traced(op="mark", what="generation 1"), SENT), 1),
    ],
)
def test_the_judge_of_the_order(trace: tuple[Traced, ...], wrong: int) -> None:
    """A send needs an intent of its own, of this life; what came back needs its flush."""
    assert len(list(unflushed(trace))) == wrong
