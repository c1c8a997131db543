from __future__ import annotations

import pytest

from pumice.kernel.api.versions import Version
from pumice.kernel.errors import BadRequest
from pumice.share.access import targets

NEWEST = Version(2, 99)


@pytest.mark.parametrize(
    ("access_type", "access_to"),
    [
        ("ip", "10.0.0.1"),
        ("ip", "10.0.0.0/8"),
        ("ip", "0.0.0.0/0"),
        ("ip", "1.2.3.4/32"),
        ("ip", "fd00::1"),
        ("ip", "fd00::/64"),
        ("ip", "::/0"),
        ("user", "alice"),
        ("user", "[lice"),
        ("user", "john.doe-1 x"),
        ("user", "u" * 255),
        ("user", "Zoë Müller"),
        ("cert", "client.example.org"),
        ("cert", "c" * 64),
        ("cephx", "alice"),
        ("cephx", "a b/c-d"),
    ],
)
def test_is_allowed(access_type: str, access_to: str) -> None:
    targets.check(access_type, access_to, NEWEST)


@pytest.mark.parametrize(
    ("access_type", "access_to"),
    [
        ("ip", "1.2.3.256"),
        ("ip", "1.1.1.*"),
        ("ip", "1.1.1.0/"),
        ("ip", "1.1.1.1/33"),
        ("ip", "1.1.1.0/-1"),
        ("ip", "10.0.0.5/24"),
        ("ip", "10.0.0.0/255.0.0.0"),
        ("ip", "01.2.3.4"),
        ("ip", "fe80::1%eth0"),
        ("ip", "fd00::/129"),
        ("ip", " 10.0.0.1"),
        ("ip", "10"),
        ("ip", ""),
        ("user", "abc"),
        ("user", "u" * 256),
        ("user", "ab*cd"),
        ("user", "root\\alice"),
        ("user", "a\nbcd"),
        ("user", ". .."),
        ("cert", ""),
        ("cert", "   "),
        ("cert", "c" * 65),
        ("cephx", "a.b"),
        ("cephx", "ä"),
        ("cephx", ""),
        ("cephx", "a\tb"),
        ("fake", "10.0.0.1"),
        ("IP", "10.0.0.1"),
    ],
)
def test_is_refused(access_type: str, access_to: str) -> None:
    with pytest.raises(BadRequest, match="is refused"):
        targets.check(access_type, access_to, NEWEST)


def test_types_come_with_their_versions() -> None:
    targets.check("ip", "fd00::1", Version(2, 38))
    with pytest.raises(BadRequest, match=r"from version 2\.38 on"):
        targets.check("ip", "fd00::1", Version(2, 37))
    targets.check("cephx", "alice", Version(2, 13))
    with pytest.raises(BadRequest, match="one of ip, user, cert is allowed"):
        targets.check("cephx", "alice", Version(2, 12))


def test_an_address_is_its_network_of_one() -> None:
    assert targets.same("ip", "10.0.0.1", "10.0.0.1/32")
    assert targets.same("ip", "fd00::1", "FD00:0::1/128")
    assert not targets.same("ip", "10.0.0.1", "10.0.0.0/31")
    assert not targets.same("user", "alice", "Alice")
