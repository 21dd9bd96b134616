"""An address has one reading: the host that is compared with the policy is the one that is shown and connected to."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.http_address import OddAddress, OddSite, Site, is_listed, is_public, parse_address, parse_listed_site

LISTED = frozenset({"api.example.com", "http://127.0.0.1:8080", "https://[2001:4860:4860::8888]:8443"})


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("https://api.example.com", "https://api.example.com/"),
        ("HTTPS://API.Example.COM:443/A?b=C&d", "https://api.example.com/A?b=C&d"),
        ("http://api.example.com:80/x", "http://api.example.com/x"),
        ("https://api.example.com:8443/a%20b", "https://api.example.com:8443/a%20b"),
        ("https://api.example.com/сделки?имя=Ромашка", None),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ("https://[2001:DB8:0:0::1]/", "https://[2001:db8::1]/"),
    ],
)
def test_an_ordinary_address_is_read_and_written_in_one_form(text: str, whole: str | None) -> None:
    """What is written is read again as the same."""
    found = parse_address(text)
    assert whole is None or str(found) == whole
    assert parse_address(str(found)) == found
    assert str(found).isascii()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api.example.com",
        "//api.example.com",
        "ftp://api.example.com",
        "file:///etc/passwd",
        "https:///path",
        "https://user@api.example.com",
        "https://api.example.com@evil.com",
        "https://api.example.com:443@evil.com/",
        "https://api.example.com#@evil.com",
        "https://evil.com\\@api.example.com",
        "https://api.example.com\\.evil.com",
        "https://api.example.com /",
        " https://api.example.com",
        "https://api.example.com\n.evil.com",
        "https://api.example.com\t",
        "https://api.example.com\x00.evil.com",
        "https://api.example.com.",
        "https://.api.example.com",
        "https://api..example.com",
        "https://-api.example.com",
        "https://аpi.example.com",
        "https://api。example。com",
        "https://ⓐpi.example.com",
        "https://api.example.com:",
        "https://api.example.com:0",
        "https://api.example.com:00443",
        "https://api.example.com:65536",
        "https://api.example.com:٤٤٣",
        "https://api.example.com:443:80",
        "https://api.exam%70le.com",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.0.0.1/",
        "https://0177.0.0.1/",
        "https://127.1/",
        "https://127.0.0.1.1/",
        "https://127.0.0.256/",
        "https://010.0.0.1/",
        "https://[::1",
        "https://::1/",
        "https://[::1]x/",
        "https://[fe80::1%25eth0]/",
        "https://[127.0.0.1]/",
        "https://[::ffff:999.0.0.1]/",
        "https://api.example.com/a/../b",
        "https://api.example.com/a/%2e%2E/b",
        "https://api.example.com/./",
        "https://api.example.com/a/..",
        "https://api.example.com/a/..%2fb",
        "https://api.example.com/a%2F..%2Fb",
        "https://api.example.com/a%5c..%5cb",
        "https://api.example.com/a/%252e%252e/b",
        "https://api.example.com/a/%25252e%25252e/b",
        "https://api.example.com/a/..;/b",
        "https://api.example.com/a/..;x=1/b",
        "https://api.example.com/a/..%3b/b",
        "https://api.example.com/a/%20../b",
        "https://api.example.com/a/\uff0e\uff0e/b",
        "https://api.example.com/a/\u2025/b",
        "https://api.example.com/a\uff0f..\uff0fb",
        "https://api.example.com/a%EF%BC%8F..%EF%BC%8Fb",
        "https://api.example.com/a%00.json",
        "https://api.example.com/a%0d%0aX-Admin:%201",
        "https://api.example.com/a%250d%250ab",
        "https://api.example.com/a\u202eb",
        "https://api.example.com/a HTTP/1.1\r\nHost: evil.com\r\n\r\n",
        "https://api.example.com?x=1 HTTP/1.1",
        "https://api.example.com%2eevil.com/",
        "https://api.example.com%00.evil.com/",
        "https://api.example.com;evil.com/",
        "https://api.example.com,evil.com/",
        "https://api.example.com&@evil.com/",
        "https://user:pass@api.example.com/",
        "https://%75ser@api.example.com/",
        "https://api.example.com:+443/",
        "https://api.example.com:-1/",
        "https://api.example.com:443%20/",
        "https://api.example.com:4_43/",
        "https://api.example.com:１２３/",
        "https://[::1]:0/",
        "https://[::1]:/",
        "https://[::1]@evil.com/",
        "https://[::1%lo]/",
        "https://[v1.::1]/",
        "https://[0:0:0:0:0:0:0:0:1]/",
        "https://[::ffff:0x7f.0.0.1]/",
        "https://[::ffff:127.1]/",
        "https://[]/",
        "https://0/",
        "https://0.0/",
        "https://0x0/",
        "https://api.example.com/%c0%ae%c0%ae/b",
        "https://api.example.com/..%c0%afb",
        "https://api.example.com/%e0%80%ae./b",
        "https://4294967296/",
        "https://127.0.0.1./",
        "https://127.0.0.01/",
        "https://1.2.3.0x4/",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://api.example.com\u3002/",
        "https://api\uff0eexample\uff0ecom/",
        "https://xn--/ü@evil.com/",
        "https:api.example.com/",
        "https:/api.example.com/",
        "https:\\\\api.example.com/",
        "https://\\evil.com/",
        "https:///evil.com/",
        "https://?evil.com",
        "jar:https://api.example.com/!/x",
        "view-source:https://api.example.com/",
        "gopher://api.example.com/_x",
        "dict://127.0.0.1:11211/stat",
        "data:text/plain,x",
        "unix:///var/run/docker.sock",
        "https+unix://x/",
        "\ufeffhttps://api.example.com/",
        "ｈttps://api.example.com/",
        "httpſ://api.example.com/",
        "https://api.example.com/a b",
        "https://api.example.com/%",
        "https://api.example.com/%zz",
        "https://api.example.com/\ud800",
        "https://api.example.com/<script>",
        "https://" + "a" * 64 + ".com",
        "https://" + "a." * 127 + "com",
        "https://api.example.com/" + "a" * 2000,
        None,
        5,
        ["https://api.example.com"],
    ],
)
def test_an_address_that_two_programs_could_read_differently_is_refused(text: object) -> None:
    """Whoever writes it must write it plainly."""
    with pytest.raises(OddAddress):
        parse_address(text)


@given(st.text(alphabet="htps:/@[]\\.#?%0123456789abcdefx-_é ", max_size=40))
def test_what_is_accepted_is_read_again_as_the_same(tail: str) -> None:
    """Any text: refused, or of a form that stays."""
    try:
        found = parse_address(f"https://{tail}")
    except OddAddress:
        return
    assert parse_address(str(found)) == found


@pytest.mark.parametrize(
    ("address", "listed"),
    [
        ("https://api.example.com/x", True),
        ("https://API.example.com:443/", True),
        ("http://api.example.com/", False),
        ("https://api.example.com:8443/", False),
        ("https://x.api.example.com/", False),
        ("https://example.com/", False),
        ("http://127.0.0.1:8080/", True),
        ("http://127.0.0.1/", False),
        ("https://127.0.0.1:8080/", False),
        ("https://[2001:4860:4860:0::8888]:8443/", True),
    ],
)
def test_the_policy_lists_scheme_host_and_port(address: str, listed: bool) -> None:  # noqa: FBT001 - the expectation
    """A bare host means https at its usual port; a subdomain is another host."""
    assert is_listed(parse_address(address).site, LISTED) is listed


@pytest.mark.parametrize(
    "entry", ["", "*", "*.example.com", "api.example.com/path", "https://api.example.com?x", "a b", "ftp://x.com", "user@x.com"]
)
def test_an_entry_that_is_no_host_is_refused(entry: str) -> None:
    """No patterns, no paths."""
    with pytest.raises(OddSite):
        parse_listed_site(entry)


def test_a_site_is_written_without_its_usual_port() -> None:
    """As people write it."""
    assert str(Site(scheme="https", host="::1", port=443)) == "https://[::1]"


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - an address that must not count as public
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "64:ff9b:1::1",
        "100::1",
        "2001:db8::1",
        "2001::1",
        "2002:7f00:1::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
        "fec0::1",
    ],
)
def test_what_is_not_the_public_internet_is_not_public(address: str) -> None:
    """This machine, private and carrier networks, link-local and metadata addresses, and IPv6 that carries an IPv4 address inside."""
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2001:4860:4860::8888", "2606:4700::1111"])
def test_public_addresses_are_public(address: str) -> None:
    """Hosts on the internet."""
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["168.63.129.16", "192.88.99.1", "192.0.0.9", "192.0.0.10", "192.31.196.1", "2620:4f:8000::1", "3fff::1"]
)
def test_networks_that_only_seem_public_are_not(address: str) -> None:
    """A service inside a cloud, relays, sinks and examples."""
    assert not is_public(ipaddress.ip_address(address))
