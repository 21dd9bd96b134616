"""Embeddings by hashing: words, their beginnings and letter triples are hashed into vector positions. Equal texts give equal vectors."""

import base64
import hashlib
import math
import re
import struct
from collections.abc import Iterator

from sandbox.model.text import fold

DIMENSIONS = 256


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Return the embedding of a text as a vector of length 1. Similar texts give similar vectors; an empty text gives (1, 0, 0, ...)."""
    buckets = [0.0] * dimensions
    for feature, weight in _features(text):
        digest = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
        buckets[digest % dimensions] += weight if digest >> 63 else -weight
    length = math.sqrt(sum(value * value for value in buckets))
    if length == 0:
        return [1.0, *([0.0] * (dimensions - 1))]
    return [value / length for value in buckets]


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in re.findall(r"\w+", fold(text)):
        yield f"w:{word}", 1.0
        # Russian endings change; beginnings keep the forms of one word together.
        yield f"s:{word[:5]}", 1.0
        padded = f"^{word}$"
        for start in range(len(padded) - 2):
            yield f"g:{padded[start : start + 3]}", 0.3


def packed(values: list[float]) -> str:
    """Return the vector as base64 of little-endian float32, the form many clients ask for."""
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
