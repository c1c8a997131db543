from __future__ import annotations

import datetime
from typing import Any

import pytest

from pumice.block import messages
from pumice.block.message_codes import Action, Detail
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.messages import Code, Message, Messages
from tests.block.conftest import BlockApi, MakeApi
from tests.support.identity import PROJECT_A, PROJECT_B

VOLUME, SNAPSHOT = new_id(), new_id()


@pytest.fixture
def api(make_api: MakeApi) -> BlockApi:
    api = make_api(messages)

    def work(tx: Any) -> None:
        kinds = [
            ("VOLUME", VOLUME, Action.SCHEDULE, Detail.NO_BACKEND),
            ("VOLUME", VOLUME, Action.EXTEND, Detail.UNKNOWN),
        ]
        kinds.append(("VOLUME_SNAPSHOT", SNAPSHOT, Action.CREATE_SNAPSHOT, Detail.UNKNOWN))
        for number, (kind, resource, action, detail) in enumerate(kinds):
            made = Messages("VOLUME").record(
                tx,
                project_id=PROJECT_A,
                request_id=f"req-{number}",
                resource_type=kind,
                resource_id=resource,
                action=action,
                detail=detail,
            )
            made.created_at = utcnow() + datetime.timedelta(seconds=number)

    api.db.write(work)
    return api


def requests(api: BlockApi, query: str = "", **more: Any) -> list[str]:
    found = api.ok("GET", f"/messages{query}", **{"who": "reader_a", **more})["messages"]
    return [one["request_id"] for one in found]


def first(api: BlockApi) -> Any:
    return api.ok("GET", "/messages", who="reader_a")["messages"][-1]


def test_a_message_says_what_went_wrong(api: BlockApi) -> None:
    shown = first(api)
    assert set(shown) == {
        "id",
        "event_id",
        "user_message",
        "message_level",
        "created_at",
        "guaranteed_until",
        "request_id",
        "resource_type",
        "resource_uuid",
        "links",
    }
    assert shown["event_id"] == "VOLUME_VOLUME_001_003"
    assert shown["message_level"] == "ERROR"
    assert shown["user_message"] == "Choosing a backend for the volume:No backend could take the request."
    assert shown["links"][0]["href"].endswith(f"/v3/{PROJECT_A}/messages/{shown['id']}")
    assert api.ok("GET", f"/messages/{shown['id']}", who="reader_a") == {"message": shown}


def test_a_message_about_nothing_has_no_keys_for_it(api: BlockApi) -> None:
    bare = Message(project_id=PROJECT_B, event_id="VOLUME_000001", action_id="", detail_id="", expires_at=utcnow())
    api.add(bare)
    (shown,) = api.ok("GET", "/messages", who="reader_b")["messages"]
    assert not {"resource_type", "resource_uuid"} & set(shown)


def test_filters_and_pages_from_3_5_on(api: BlockApi) -> None:
    newest_first = ["req-2", "req-1", "req-0"]
    assert requests(api) == newest_first
    query = "?limit=1&resource_type=VOLUME&sort=request_id:asc"
    assert requests(api, query, version="3.3") == newest_first
    assert requests(api, query, version="3.5") == ["req-0"]
    assert requests(api, f"?resource_uuid={SNAPSHOT}") == ["req-2"]
    assert requests(api, "?event_id=VOLUME_VOLUME_007_001&message_level=ERROR") == ["req-1"]
    assert requests(api, "?request_id~=q-1") == ["req-1"]
    page = api.ok("GET", "/messages?limit=2", who="reader_a")
    query = page["messages_links"][0]["href"].partition("?")[2]
    assert requests(api, f"?{query}") == ["req-0"]
    api.refused(400, "GET", "/messages?cats=1", who="reader_a")


def test_a_message_is_deleted_once(api: BlockApi) -> None:
    path = f"/messages/{first(api)['id']}"
    api.refused(403, "DELETE", path, who="reader_a")
    api.ok("DELETE", path, who="member_a", status=204)
    for method in ("GET", "DELETE"):
        api.refused(404, method, path, who="member_a")
    assert requests(api) == ["req-2", "req-1"]


def test_others_messages_are_not_there(api: BlockApi) -> None:
    path = f"/messages/{first(api)['id']}"
    assert requests(api, who="reader_b") == []
    for method in ("GET", "DELETE"):
        api.refused(404, method, path, who="member_b")
    assert len(requests(api, "?all_tenants=1", who="admin")) == 3
    assert requests(api, who="admin") == []


def test_there_are_no_messages_before_3_3(api: BlockApi) -> None:
    api.refused(404, "GET", "/messages", version="3.2")
    api.refused(404, "POST", "/messages", {})


@pytest.mark.parametrize(("codes", "count"), [(Action, 16), (Detail, 30)])
def test_codes_are_complete_and_distinct(codes: type[Code], count: int) -> None:
    assert [code.id for code in codes] == [f"{number:03}" for number in range(1, count + 1)]
    assert len({code.text for code in codes}) == count
    assert not any(":" in code.text for code in codes)
