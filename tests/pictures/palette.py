"""Rewrites a picture with a palette of at most 256 colours: a third of the bytes, and text looks the same."""

import struct
import zlib
from base64 import b64decode, b64encode
from typing import Final

from playwright.async_api import Page

_COLOURS: Final = """async source => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, image.width, image.height).data;
  const key = at => (pixels[at] >> 3 << 10) | (pixels[at + 1] >> 3 << 5) | (pixels[at + 2] >> 3);
  const whole = new Map();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
    whole.set(colour, (whole.get(colour) ?? 0) + 1);
  }
  const counts = new Map();
  const exact = new Map();
  for (const [colour, count] of [...whole].sort((a, b) => b[1] - a[1])) {
    const parts = [colour >> 16, (colour >> 8) & 255, colour & 255];
    const found = (parts[0] >> 3 << 10) | (parts[1] >> 3 << 5) | (parts[2] >> 3);
    counts.set(found, (counts.get(found) ?? 0) + count);
    if (!exact.has(found)) exact.set(found, parts);
  }
  const kept = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([found]) => exact.get(found));
  const far = (a, b) => (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2;
  const nearest = new Map();
  for (const [found, colour] of exact) {
    nearest.set(found, kept.reduce((best, other, place) => (far(other, colour) < far(kept[best], colour) ? place : best), 0));
  }
  const indices = new Uint8Array(image.width * image.height);
  for (let at = 0; at < indices.length; at += 1) indices[at] = nearest.get(key(at * 4));
  let text = "";
  for (let at = 0; at < indices.length; at += 8192) text += String.fromCharCode(...indices.subarray(at, at + 8192));
  return { width: image.width, height: image.height, palette: kept.flat(), indices: btoa(text) };
}"""
"""Runs in the browser, which can read pictures: the most frequent colours, and for each pixel the place of the nearest one."""


async def shrink_picture(page: Page, png: bytes) -> bytes:
    """Return the picture as a PNG with a palette; `page` is any page of a browser."""
    found = await page.evaluate(_COLOURS, f"data:image/png;base64,{b64encode(png).decode()}")
    width, height, indices = int(found["width"]), int(found["height"]), b64decode(found["indices"])
    rows = b"".join(b"\0" + indices[row * width : (row + 1) * width] for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = (b"IHDR", header), (b"PLTE", bytes(found["palette"])), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_build_chunk(kind, data) for kind, data in chunks)


def _build_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
