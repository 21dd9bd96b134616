"""The order of a run's calls: nothing leaves and nothing is told before what it rests on was flushed. Pure; kill -9 cannot see this.

The page cache outlives a killed process but not a power cut, so only the order shows a flush that is missing.
"""

from collections.abc import Iterator, Sequence

from tests.crash.lab_shim import Traced

WAL = "sdelka.db-wal"
_READS = (".get", ".list", ".fields", ".getFields", ".findbycomm")


def unflushed(trace: Sequence[Traced]) -> Iterator[str]:
    """Writes of the store that came back before the disk had them, and changes of the portal that left without an intent."""
    owed = intent = False
    for call in trace:
        match call.op:
            case "mark" if call.what.startswith("generation "):
                owed = intent = False
            case "mark" if call.what.endswith(":after") and not call.what.startswith("send("):
                if owed:
                    yield f"{call.what.removesuffix(':after')} came back before the write-ahead log was flushed"
                intent = intent or "->started" in call.what
            case "write" if call.what == WAL:
                owed = not call.trouble  # without room for the rest the transaction is none, and nothing of it is owed
            case "flush" if call.what == WAL and call.trouble in {"", "a"}:
                owed = False
            case "send" if _changes(call.what):
                if not intent:
                    yield f"a request to {call.what} left without an intent"
                intent = False


def _changes(path: str) -> bool:
    """Whether it is a call of the portal that may change something (a batch of reads stands for itself)."""
    return path.startswith("/rest/") and not path.endswith((*_READS, "/batch"))


def dead_handles(trace: Sequence[Traced]) -> Iterator[str]:
    """Frames that went to the log by a handle whose flush had failed: what such a handle believes nobody can say."""
    failed: set[int] = set()
    for call in trace:
        if call.op == "close" or (call.op == "mark" and call.what.startswith("generation ")):
            failed = failed - {call.fd} if call.op == "close" else set()
        elif call.op == "flush" and call.what == WAL and call.trouble == "e":
            failed.add(call.fd)
        elif call.op == "write" and call.what == WAL and call.fd in failed:
            yield f"a frame at {call.offset} by a handle whose flush had failed"
