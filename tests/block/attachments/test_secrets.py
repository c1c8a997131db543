"""Who is told the password of an export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.blockservice import Block
from tests.support.identity import PEOPLE


@pytest.fixture
def block(tmp_path: Path) -> Iterator[Block]:
    with Block(tmp_path) as made:
        yield made


def test_only_those_who_may_connect_a_volume_are_told_its_password(block: Block) -> None:
    connector = {"host": "h", "initiator": "iqn.2026-01.example:h"}
    body = {"attachment": {"volume_uuid": block.volume(), "connector": connector}}
    made = block.call("POST", "/attachments", body).json["attachment"]
    password = made["connection_info"]["auth_password"]
    told = {
        who
        for who in PEOPLE
        for path in (f"/attachments/{made['id']}", "/attachments/detail?all_tenants=1")
        if password in block.call("GET", path, who=who).text
    }
    may_attach = {"member_a", "member2_a", "manager_a", "member_a_via_service"}
    assert told == may_attach | {"admin_a", "admin", "service"}
    assert block.call("GET", f"/attachments/{made['id']}", who="reader_a").json["attachment"]["connection_info"] == {}
