from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pumice.kernel.db.base import utcnow
from pumice.share.message_codes import Action, Detail
from tests.support.identity import PROJECT_A
from tests.support.shareservice import Shares
from tests.support.waiting import eventually


@pytest.fixture
def shares(tmp_path: Path) -> Iterator[Shares]:
    with Shares(tmp_path) as made:
        yield made
        made.driver.undial()
        assert made.all_wrong() == []


def services(shares: Shares, query: str = "", *, version: str = "2.99") -> list[dict[str, Any]]:
    path = "/os-services" if version == "2.6" else "/services"
    found: list[dict[str, Any]] = shares.ok("GET", path + query, who="admin", version=version)["services"]
    return found


def test_services_are_listed(shares: Shares) -> None:
    by_binary = {one["binary"]: one for one in services(shares)}
    assert set(by_binary) == {"manila-share", "manila-scheduler"}
    one = by_binary["manila-share"]
    assert (one["host"], one["zone"], one["status"], one["state"]) == ("here@sim", "nova", "enabled", "up")
    keys = {"id", "binary", "host", "zone", "status", "state", "updated_at"}
    for version, more in (
        ("2.6", set()),
        ("2.7", set()),
        ("2.82", set()),
        ("2.83", {"disabled_reason"}),
        ("2.86", {"disabled_reason", "ensuring"}),
    ):
        assert set(services(shares, version=version)[0]) == keys | more
    for query, count in (
        ("?host=here@sim", 1),
        ("?binary=manila-scheduler", 1),
        ("?zone=nova&state=up&status=enabled", 2),
        ("?state=sideways", 0),
        ("?status=disabled", 0),
        ("?ensuring=false", 2),
        ("?ensuring=true", 0),
    ):
        assert len(services(shares, query)) == count, query
    assert len(services(shares, "?ensuring=true", version="2.92")) == 2
    shares.refused(403, "GET", "/services")
    shares.refused(404, "GET", "/services", who="admin", version="2.6")


def test_a_service_is_disabled_and_enabled(shares: Shares) -> None:
    body = {"host": "here@sim", "binary": "manila-share"}
    off = shares.ok("PUT", "/services/disable", body | {"disabled_reason": "moving"}, who="admin")
    assert off == body | {"status": "disabled", "disabled_reason": "moving", "ensuring": False}
    assert services(shares, "?status=disabled")[0]["disabled_reason"] == "moving"
    assert shares.ok("GET", "/scheduler-stats/pools", who="admin") == {"pools": []}
    on = shares.ok("PUT", "/os-services/enable", body, who="admin", version="2.6")
    assert on == body | {"status": "enabled"}
    assert services(shares)[0]["disabled_reason"] is None
    for status, word, wrong, version in (
        (400, "disable", body | {"disabled_reason": "x"}, "2.82"),
        (400, "disable", body | {"disabled_reason": "x" * 256}, "2.83"),
        (400, "disable", {"host": "here@sim"}, "2.99"),
        (400, "enable", {"binary": "manila-share"}, "2.99"),
        (404, "enable", body | {"host": "there"}, "2.99"),
        (404, "frobnicate", body, "2.99"),
    ):
        shares.refused(status, "PUT", f"/services/{word}", wrong, who="admin", version=version)


def test_pools(shares: Shares) -> None:
    (pool,) = shares.ok("GET", "/scheduler-stats/pools", who="admin")["pools"]
    name = pool["pool"]
    assert pool == {"name": f"here@sim#{name}", "host": "here", "backend": "sim", "pool": name}
    (detail,) = shares.ok("GET", "/scheduler-stats/pools/detail", who="admin")["pools"]
    assert detail["capabilities"]["share_backend_name"] == "sim"
    assert detail["capabilities"]["driver_handles_share_servers"] is False
    shares.type("servers", {"driver_handles_share_servers": "True"})
    for query, count in (
        ("?host=he&backend=s.m&pool=.*", 1),
        ("?host=there", 0),
        ("?share_type=default", 1),
        ("?share_type=servers", 0),
    ):
        assert len(shares.ok("GET", f"/scheduler-stats/pools{query}", who="admin")["pools"]) == count, query
    old = shares.ok("GET", "/scheduler-stats/pools?share_type=servers", who="admin", version="2.22")
    assert len(old["pools"]) == 1
    shares.refused(400, "GET", "/scheduler-stats/pools?share_type=nothing", who="admin")
    shares.refused(400, "GET", "/scheduler-stats/pools?host=(", who="admin")
    shares.refused(403, "GET", "/scheduler-stats/pools")


def test_zones(shares: Shares) -> None:
    (zone,) = shares.ok("GET", "/availability-zones", who="reader_a")["availability_zones"]
    assert set(zone) == {"id", "name", "created_at", "updated_at"}
    assert zone["name"] == "nova"
    assert shares.ok("GET", "/os-availability-zone", version="2.6") == {"availability_zones": [zone]}
    share = shares.share(availability_zone=zone["id"])
    assert shares.ok("GET", f"/shares/{share}")["share"]["availability_zone"] == "nova"


def test_there_are_no_extensions(shares: Shares) -> None:
    assert shares.ok("GET", "/extensions") == {"extensions": []}
    shares.refused(404, "GET", "/extensions/any")
    shares.refused(404, "POST", "/extensions", {})


def ensure(shares: Shares, host: str = "here@sim", *, status: int = 202, body: Any = None, **more: str) -> Any:
    body = body or {"ensure_shares": {"host": host}}
    return shares.call("POST", "/services/ensure-shares", body, **{"who": "admin", **more}).status_code == status


def test_a_backend_is_asked_to_see_to_its_shares(shares: Shares) -> None:
    share = shares.share()
    before = shares.driver.calls["ensure_share"]
    shares.driver.dial("ensure_share", hang=True)
    assert ensure(shares)
    eventually(lambda: shares.driver.calls["ensure_share"] > before)
    assert shares.ok("GET", f"/shares/{share}")["share"]["status"] == "ensuring"
    assert [one["host"] for one in services(shares, "?ensuring=true")] == ["here@sim"]
    shares.refused(403, "DELETE", f"/shares/{share}")
    shares.driver.undial()
    shares.driver.release()
    assert shares.rest(f"/shares/{share}") == "available"
    assert services(shares, "?ensuring=true") == []
    assert ensure(shares, body={"host": "here@sim"})
    assert ensure(shares, body={"else": "here@sim"}, status=400)
    assert ensure(shares, status=403, who="member_a")
    assert ensure(shares, "there@sim", status=404)
    assert ensure(shares, status=404, version="2.85")


def test_a_share_that_cannot_be_seen_to_stays_available(shares: Shares) -> None:
    share = shares.share()
    shares.driver.dial("ensure_share", fail="the server is away")
    assert ensure(shares)
    assert shares.rest(f"/shares/{share}") == "available"
    (message,) = shares.ok("GET", f"/messages?resource_id={share}")["messages"]
    assert message["action_id"] == "005"
    assert services(shares, "?ensuring=true") == []


def test_seeing_to_shares_need_not_show(tmp_path: Path) -> None:
    with Shares(tmp_path, update_shares_status_on_ensure=False) as shares:
        share = shares.share()
        before = shares.driver.calls["ensure_share"]
        assert ensure(shares)
        assert shares.ok("GET", f"/shares/{share}")["share"]["status"] == "available"
        eventually(lambda: shares.driver.calls["ensure_share"] > before and not services(shares, "?ensuring=true"))
        assert shares.all_wrong() == []


def test_a_service_that_is_down_sees_to_nothing(tmp_path: Path) -> None:
    with Shares(tmp_path, service_down_time=2) as shares:
        shares.service._hearts[0].stop()
        eventually(lambda: services(shares, "?state=down"))
        assert ensure(shares, status=409)


def test_messages(shares: Shares) -> None:
    def work(tx: Any) -> list[str]:
        made = [
            shares.service.messages.record(
                tx,
                project_id=PROJECT_A,
                request_id=f"req-{number}",
                resource_type="SHARE",
                resource_id=str(number) * 8,
                action=Action.CREATE,
                detail=detail,
            )
            for number, detail in enumerate((Detail.NO_BACKEND, Detail.UNKNOWN))
        ]
        return [one.id for one in made]

    ids = shares.service.db.write(work)
    shown = shares.ok("GET", f"/messages/{ids[0]}")["message"]
    assert set(shown) == {
        "id",
        "project_id",
        "action_id",
        "detail_id",
        "message_level",
        "created_at",
        "expires_at",
        "request_id",
        "links",
        "resource_type",
        "resource_id",
        "user_message",
    }
    assert shown["user_message"].startswith("Creating the share on its backend: No storage could")

    def listed(query: str, **more: str) -> set[str]:
        return {one["request_id"] for one in shares.ok("GET", f"/messages{query}", **more)["messages"]}

    assert listed("") == {"req-0", "req-1"}
    assert listed("?detail_id=001&action_id=002&resource_type=SHARE&message_level=ERROR") == {"req-1"}
    assert listed(f"?resource_id={'0' * 8}&request_id=req-0") == {"req-0"}
    future = utcnow().replace(year=2100).isoformat()
    assert listed(f"?created_since={future}") == set()
    assert listed(f"?created_before={future}") == {"req-0", "req-1"}
    assert listed(f"?created_since={future}", version="2.51") == {"req-0", "req-1"}
    shares.refused(400, "GET", "/messages?created_since=yesterday")
    shares.refused(404, "GET", "/messages", version="2.36")
    shares.refused(404, "GET", f"/messages/{ids[0]}", who="member_b")
    shares.refused(403, "DELETE", f"/messages/{ids[0]}", who="reader_a")
    shares.ok("DELETE", f"/messages/{ids[0]}", status=204)
    assert listed("") == {"req-1"}
