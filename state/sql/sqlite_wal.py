"""Reads a SQLite write-ahead log: which frames are valid.

SQLite silently drops all frames behind a damaged one.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

HEAD, FRAME = 32, 24
_MAGIC = {0x377F0682: "little", 0x377F0683: "big"}
Sums = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Frame:
    offset: int
    sound: bool


def iterate_frames(data: bytes) -> Iterator[Frame]:
    """Yield frames also behind a wrong checksum, but none of an earlier log."""
    order = _MAGIC.get(int.from_bytes(data[:4], "big"))
    size = int.from_bytes(data[8:12], "big")
    if order is None or len(data) < HEAD or not 512 <= size <= 65536:  # noqa: PLR2004 - bounds of the format
        return
    kind: Literal["little", "big"] = "little" if order == "little" else "big"
    sums = _parse_sums(data[24:32])
    others: Sums | None = None
    for offset in range(HEAD, len(data) - FRAME - size + 1, FRAME + size):
        head = data[offset : offset + FRAME]
        if head[8:16] != data[16:24]:
            return
        covered = head[:8] + data[offset + FRAME : offset + FRAME + size]
        stored = _parse_sums(head[16:24])
        computed = calculate_checksum(covered, sums, kind)
        sound = stored == computed or (others is not None and stored == calculate_checksum(covered, others, kind))
        # After a damaged frame, the checksum of the next one may continue from the stored sums or from the computed ones.
        sums, others = stored, None if sound else computed
        yield Frame(offset=offset, sound=sound)


def calculate_checksum(data: bytes, sums: Sums, order: Literal["little", "big"]) -> Sums:
    """Continue the checksum `sums`."""
    first, second = sums
    words = iter(struct.unpack(f"{'<' if order == 'little' else '>'}{len(data) // 8 * 2}I", data[: len(data) // 8 * 8]))
    for even, odd in zip(words, words, strict=True):
        first = first + even + second & 0xFFFFFFFF
        second = second + odd + first & 0xFFFFFFFF
    return first, second


def find_damage(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (offset, reason); an incomplete end is no damage."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    order = _MAGIC.get(int.from_bytes(data[:4], "big"))
    if len(data) >= HEAD and any(data):
        kind: Literal["little", "big"] = "little" if order == "little" else "big"
        if order is None or _parse_sums(data[24:32]) != calculate_checksum(data[:24], (0, 0), kind):
            yield 0, "the head of the write-ahead log is damaged, so all that it holds is lost"
            return
    seen = list(iterate_frames(data))
    for number, frame in enumerate(seen):
        if not frame.sound and any(later.sound for later in seen[number + 1 :]):
            yield frame.offset, f"a frame of the write-ahead log is damaged, and the {len(seen) - number - 1} after it are lost with it"
            return


def _parse_sums(data: bytes) -> Sums:
    return int.from_bytes(data[:4], "big"), int.from_bytes(data[4:8], "big")
