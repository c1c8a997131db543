from __future__ import annotations

from typing import Any

import pytest

from tests.support.identity import PROJECT_ADMIN
from tests.support.shareservice import Shares

HOST = "here@sim#sim"


def body(path: Any, **values: Any) -> dict[str, Any]:
    return {"share": {"export_path": path, "service_host": HOST, "protocol": "nfs", **values}}


def used(shares: Shares) -> tuple[int, int]:
    found = shares.ok("GET", f"/quota-sets/{PROJECT_ADMIN}/detail", who="admin")["quota_set"]
    return found["shares"]["in_use"], found["gigabytes"]["in_use"]


def managed(shares: Shares, path: Any, **values: Any) -> str:
    made = shares.ok("POST", "/shares/manage", body(path, **values), who="admin")["share"]
    assert made["status"] == "manage_starting"
    assert made["host"] == HOST
    id: str = made["id"]
    return id


def test_a_share_is_taken_over_and_let_go(shares: Shares) -> None:
    path = shares.driver.put_foreign_share("old", 7)
    id = managed(shares, path, name="mine", description="d", driver_options={"a": "b"}, is_public=True)
    assert shares.rest(f"/shares/{id}") == "available"
    shown = shares.ok("GET", f"/shares/{id}", who="admin")["share"]
    assert (shown["size"], shown["name"], shown["is_public"], shown["project_id"]) == (7, "mine", True, PROJECT_ADMIN)
    assert (shown["share_proto"], shown["share_type_name"], shown["progress"]) == ("NFS", "default", "100%")
    assert used(shares) == (1, 7)
    locations = shares.ok("GET", f"/shares/{id}/export_locations", who="admin")["export_locations"]
    assert path in {one["path"] for one in locations}
    shares.refused(409, "POST", "/shares/manage", body(path), who="admin")
    shares.refused(403, "POST", f"/shares/{id}/action", {"unmanage": None}, who="member_b")
    shares.act(id, "unmanage", who="admin")
    assert shares.rest(f"/shares/{id}") == "gone"
    assert used(shares) == (0, 0)
    again = managed(shares, {"path": path})
    assert shares.rest(f"/shares/{again}") == "available"
    shares.ok("DELETE", f"/shares/{again}", status=202, who="admin")
    assert shares.rest(f"/shares/{again}") == "gone"


def test_the_older_routes(shares: Shares) -> None:
    path = shares.driver.put_foreign_share("old", 2)
    asked = body(path, display_name="mine", is_public=True)
    made = shares.ok("POST", "/os-share-manage", asked, who="admin", version="2.6")["share"]
    assert shares.rest(f"/shares/{made['id']}") == "available"
    shown = shares.ok("GET", f"/shares/{made['id']}", who="admin")["share"]
    assert (shown["name"], shown["is_public"]) == ("mine", False)
    letting_go = f"/os-share-unmanage/{made['id']}/unmanage"
    shares.refused(404, "POST", letting_go, {}, who="admin", version="2.7")
    shares.refused(404, "POST", "/os-share-manage", asked, who="admin", version="2.7")
    shares.refused(404, "POST", "/shares/manage", asked, who="admin", version="2.6")
    shares.ok("POST", letting_go, status=202, who="admin", version="2.6")
    assert shares.rest(f"/shares/{made['id']}") == "gone"


def test_what_cannot_be_taken_over(shares: Shares) -> None:
    shares.type("servers", {"driver_handles_share_servers": "True"})
    for status, asked in (
        (422, {}),
        (422, body("")),
        (422, body(None)),
        (422, body({"path": 5})),
        (422, body("p", service_host=None)),
        (422, body("p", protocol="")),
        (422, {"share": {"export_path": "p", "protocol": "NFS"}}),
        (400, body("p", protocol="x" * 17)),
        (400, body("p", service_host="here@sim")),
        (404, body("p", service_host="there#sim")),
        (404, body("p", service_host="there@sim#sim")),
        (404, body("p", service_host="here@sim#other")),
        (404, body("p", share_type="nothing")),
        (400, body("p", share_type="servers")),
        (400, body("p", share_server_id="x")),
        (400, body("p", mount_point_name="x")),
    ):
        shares.refused(status, "POST", "/shares/manage", asked, who="admin")
    shares.refused(403, "POST", "/shares/manage", body("p"))
    assert used(shares) == (0, 0)


@pytest.mark.parametrize("asked", [{}, {"protocol": "SMTP"}])
def test_what_the_backend_has_not_ends_in_manage_error(shares: Shares, asked: dict[str, str]) -> None:
    id = managed(shares, "127.0.0.1:/nothing", **asked)
    assert shares.rest(f"/shares/{id}") == "manage_error"
    assert used(shares) == (1, 0)
    (message,) = shares.ok("GET", f"/messages?resource_id={id}", who="admin")["messages"]
    assert (message["resource_type"], message["detail_id"]) == ("SHARE", "001")
    shares.act(id, "unmanage", who="admin")
    assert shares.rest(f"/shares/{id}") == "gone"


@pytest.mark.parametrize("way", ["snapshot", "recycled", "moving", "failing"])
def test_what_is_not_let_go(shares: Shares, way: str) -> None:
    id = shares.share()
    if way == "snapshot":
        made = shares.ok("POST", "/snapshots", {"snapshot": {"share_id": id}}, status=202)["snapshot"]
        assert shares.rest(f"/snapshots/{made['id']}") == "available"
    elif way == "recycled":
        shares.act(id, "soft_delete")
    elif way == "moving":
        shares.act(id, "reset_status", {"status": "migrating"}, who="admin_a")
    else:
        shares.driver.dial("unmanage_share", fail="no")
        shares.act(id, "unmanage", who="admin_a")
        assert shares.rest(f"/shares/{id}") == "unmanage_error"
        return
    shares.refused(403, "POST", f"/shares/{id}/action", {"unmanage": None}, who="admin_a")
    if way == "moving":
        shares.act(id, "reset_status", {"status": "available"}, who="admin_a")
