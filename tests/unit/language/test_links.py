"""Addresses in answers lead to the portal, to listed hosts or where the person pointed, and nowhere else."""

import pytest

from orchestrator.language.links import extract_hosts, strip_unknown_links

HOSTS = frozenset({"portal.example", "portal.example:8443"})


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("см. https://portal.example/crm/deal/details/481/", True),
        ("см. https://PORTAL.example/x", True),
        ("см. http://portal.example:8443/x", True),
        ("просто слова, цена 1.500 и т.д.", True),
        ("файл отчёт.pdf от 21.11.2026", True),
        ("см. https://evil.example/?q=тайна", False),
        ("см. https://portal.example.evil.example/x", False),
        ("см. https://portal.example@evil.example/x", False),
        ("[сюда](https://evil.example/x)", False),
        ("www.evil.example/x", False),
        ("evil.example/x?d=1", False),
        ("ftp://evil.example/x", False),
        ("javascript://evil.example/%0aalert(1)", False),
        ("https://[::1", False),
    ],
)
def test_only_known_addresses_stay(text: str, kept: bool) -> None:  # noqa: FBT001 - a case of the table
    """A link that could carry data away is never one press away; text without one is left as it is."""
    found = strip_unknown_links(text, HOSTS, locale="ru")
    assert (found == text) is kept
    assert ("⟨ссылка убрана⟩" in found) is not kept
    assert "evil" not in found


def test_the_persons_own_address_is_theirs() -> None:
    """What they wrote themselves may be repeated, in either language the mark is said otherwise."""
    hosts = extract_hosts("глянь https://client.example/page и www.other.example")
    assert hosts == {"client.example", "www.other.example"}
    assert strip_unknown_links("https://client.example/a", hosts, locale="ru") == "https://client.example/a"
    assert strip_unknown_links("https://x.example/a", hosts, locale="en") == "⟨link removed⟩"
