"""The content of a file of the portal, from an address that the portal gave for it. Such an address is a secret: it holds a token."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

import httpx

from bitrix.errors import NotSent, OutcomeUnknown, Refused

_GIVES_FILE: Final = re.compile(r"/rest/(?:[^?#]*/)?[a-z0-9.]+\.(?:getfile|download)(?:\.json)?/?", re.ASCII | re.IGNORECASE)
_CODED_NAME: Final = re.compile(r"filename\*\s*=\s*utf-8''([^;\s]+)", re.IGNORECASE)
_PLAIN_NAME: Final = re.compile(r'filename\s*=\s*"([^"]*)"|filename\s*=\s*([^;\s]+)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PortalFile:
    """`name` as the portal tells it, or ""."""

    name: str
    content: bytes = field(repr=False)


def build_file_url(address: str, origin: str) -> httpx.URL:
    """Raises NotSent unless `address` is that of a file on this very portal."""
    own, url = httpx.URL(origin), None
    with contextlib.suppress(httpx.InvalidURL):
        url = own.join(address)
    if url is None or (url.scheme, url.netloc, url.userinfo) != (own.scheme, own.netloc, b"") or not _GIVES_FILE.fullmatch(url.path):
        raise NotSent("the address of the file is none of this portal")
    return url


async def download(http: httpx.AsyncClient, url: httpx.URL, headers: Mapping[str, str], *, at_most: int) -> PortalFile:
    """Raises Refused or OutcomeUnknown, without the address. Redirects are not followed."""
    content = bytearray()
    async with http.stream("GET", url, headers={**headers, "Accept": "*/*", "Accept-Encoding": "identity"}) as response:
        disposition = response.headers.get("content-disposition", "")
        if response.status_code != httpx.codes.OK or not disposition:  # an error or a page to log in has no such header
            raise Refused("no_file", "the portal did not give the file", response.status_code)
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > at_most:
                raise OutcomeUnknown(f"the file has more than {at_most} bytes", transient=False)
    return PortalFile(_parse_name(disposition), bytes(content))


def _parse_name(disposition: str) -> str:
    if (coded := _CODED_NAME.search(disposition)) is not None:
        return unquote(coded[1], errors="replace")
    plain = _PLAIN_NAME.search(disposition)
    return (plain[1] or plain[2] or "") if plain is not None else ""
