"""Addresses in answers lead to the portal, to listed hosts or where the person pointed, and nowhere else."""

import pytest

from orchestrator.language.links import extract_addresses, extract_hosts, find_allowed_links, strip_unknown_links

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
        (r"https://evil.example\@portal.example/x", False),
        (r"https://portal.example\.evil.example/x", False),
        ("https://user@portal.example/x", False),
        ("evil.example?d=1", False),
        ("evil.example:8080/x", False),
        ("видели отчёт.pdf?", True),
        ("203.0.113.7/pay?d=evil", False),
        ("203.0.113.7:8080/evil", False),
        ("xn--evil.xn--p1ai/pay?d=1", False),
        ("сеть 10.0.0.0/8 и версия 1.2.3.4", True),
        ("[карточка](https://portal.example/crm/deal/details/481/)", True),
    ],
)
def test_only_known_addresses_stay(text: str, kept: bool) -> None:  # noqa: FBT001 - a case of the table
    """A link that could carry data away is never one press away; text without one is left as it is."""
    found = strip_unknown_links(text, HOSTS, locale="ru")
    assert (found == text) is kept
    assert ("⟨ссылка убрана⟩" in found) is not kept
    assert "evil" not in found


def test_the_hosts_of_a_text() -> None:
    """Of complete addresses only; one that programs read in two ways has none."""
    assert extract_hosts("глянь https://client.example/page и www.other.example, https://[::1") == {"client.example", "www.other.example"}


OWN = "глянь https://Client.example/page?id=7 и shop.example, там цены"


@pytest.mark.req("S004-A12")
@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("https://client.example/page?id=7", ("https://client.example/page?id=7",)),
        ("Вот: https://client.example/page?id=7.", ("https://client.example/page?id=7",)),
        ("client.example/page?id=7", ("client.example/page?id=7",)),
        ("[страница](https://client.example/page?id=7)", ("https://client.example/page?id=7",)),
        ("shop.example", ("shop.example",)),
        ("https://shop.example/", ("https://shop.example/",)),
        ("https://client.example/page?id=7&d=150000", ()),
        ("https://client.example/page?id=8", ()),
        ("https://client.example/", ()),
        ("https://shop.example/?d=150000", ()),
        ("https://d150000.shop.example/", ()),
        ("https://150000@shop.example/", ()),
        ("https://client.example/page?id=7#150000", ()),
        ("https://client.example/PAGE?id=7", ()),
        ("https://client.example:8443/page?id=7", ()),
    ],
)
def test_of_what_the_person_wrote_the_exact_address_stays_and_no_other_of_its_host(text: str, links: tuple[str, ...]) -> None:
    """An address of the same host with one sign more could carry the data of a deal to a customer's site."""
    own = extract_addresses(OWN)
    assert (strip_unknown_links(text, frozenset(), locale="ru", addresses=own) == text) is bool(links)
    assert find_allowed_links(text, frozenset(), own) == links


def test_a_removed_link_leaves_its_words() -> None:
    """Of Markdown the label stays, and the mark is in the reader's language."""
    assert strip_unknown_links("[жми](https://x.example/a) ещё", HOSTS, locale="ru") == "жми ⟨ссылка убрана⟩ ещё"
    assert strip_unknown_links("![](https://x.example/a)", HOSTS, locale="en") == "⟨link removed⟩"
