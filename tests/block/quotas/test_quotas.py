from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event

from pumice.block.quotas import routes
from pumice.block.quotas.resources import volume_charge
from pumice.block.types import routes as type_routes
from pumice.kernel.errors import OverLimit
from tests.block.conftest import BlockApi, MakeApi
from tests.support.identity import PROJECT_A, PROJECT_B

CONFIGURED = {
    "volumes": 10,
    "snapshots": 10,
    "gigabytes": 1000,
    "backups": 10,
    "backup_gigabytes": 1000,
    "per_volume_gigabytes": -1,
    "groups": 10,
}
OF_DEFAULT_TYPE = {"volumes___DEFAULT__": -1, "gigabytes___DEFAULT__": -1, "snapshots___DEFAULT__": -1}
SETS, CLASSES = f"/os-quota-sets/{PROJECT_A}", "/os-quota-class-sets/default"


@pytest.fixture
def api(make_api: MakeApi) -> BlockApi:
    return make_api(routes, type_routes)


def make_type(api: BlockApi, name: str, **more: Any) -> str:
    return str(api.ok("POST", "/types", {"volume_type": {"name": name, **more}})["volume_type"]["id"])


def charge(api: BlockApi, size: int, type_id: str | None = None, project: str = PROJECT_A) -> None:
    api.db.write(lambda tx: api.service.quotas.charge(tx, project, volume_charge(size, type_id)))


def put(api: BlockApi, **limits: Any) -> Any:
    return api.ok("PUT", SETS, {"quota_set": limits})["quota_set"]


def test_a_project_has_the_configured_limits(api: BlockApi) -> None:
    everything = {"id": PROJECT_A, **CONFIGURED, **OF_DEFAULT_TYPE}
    assert api.ok("GET", SETS, who="reader_a") == {"quota_set": everything}
    assert api.ok("GET", f"{SETS}/defaults", who="reader_a") == {"quota_set": everything}


def test_configuration_changes_them(make_api: MakeApi) -> None:
    api = make_api(routes, quota_volumes=3, per_volume_size_limit=50)
    shown = api.ok("GET", SETS)["quota_set"]
    assert (shown["volumes"], shown["per_volume_gigabytes"]) == (3, 50)


def test_usage_names_every_resource(api: BlockApi) -> None:
    charge(api, 7, make_type(api, "fast"))
    shown = api.ok("GET", f"{SETS}?usage=True")["quota_set"]
    assert shown.pop("id") == PROJECT_A
    assert set(shown) == {*CONFIGURED, *OF_DEFAULT_TYPE, "volumes_fast", "gigabytes_fast", "snapshots_fast"}
    assert shown["gigabytes"] == {"limit": 1000, "in_use": 7, "reserved": 0}
    assert shown["gigabytes_fast"] == {"limit": -1, "in_use": 7, "reserved": 0}
    assert shown["per_volume_gigabytes"] == {"limit": -1, "in_use": 0, "reserved": 0}
    api.refused(400, "GET", f"{SETS}?usage=perhaps")


def test_limits_are_set_and_reset(api: BlockApi) -> None:
    changed = put(api, volumes="5", gigabytes=-1, tenant_id=PROJECT_A)
    assert changed == {**CONFIGURED, **OF_DEFAULT_TYPE, "volumes": 5, "gigabytes": -1}
    assert api.ok("GET", f"/os-quota-sets/{PROJECT_B}")["quota_set"]["volumes"] == 10
    assert api.ok("GET", f"{SETS}/defaults")["quota_set"]["volumes"] == 10
    assert api.ok("DELETE", SETS) is None
    assert api.ok("GET", SETS)["quota_set"]["volumes"] == 10
    api.ok("DELETE", "/os-quota-sets/nobody")


@pytest.mark.parametrize(
    "limits",
    [
        {"volumes": -2},
        {"volumes": 2**31},
        {"volumes": "many"},
        {"volumes": None},
        {"volumes": True},
        {"volumes": 1.5},
        {"cats": 1},
        {"volumes_nothing": 1},
    ],
)
def test_bad_limits_change_nothing(api: BlockApi, limits: dict[str, Any]) -> None:
    api.refused(400, "PUT", SETS, {"quota_set": {"snapshots": 1, **limits}})
    api.refused(400, "PUT", CLASSES, {"quota_class_set": {"snapshots": 1, **limits}})
    assert api.ok("GET", SETS)["quota_set"]["snapshots"] == 10


@pytest.mark.parametrize("body", [{}, {"quota_set": None}, {"quota_set": []}])
def test_bad_bodies(api: BlockApi, body: Any) -> None:
    api.refused(400, "PUT", SETS, body)


def test_a_limit_below_what_is_used_is_refused(api: BlockApi) -> None:
    charge(api, 7)
    assert "gigabytes" in api.refused(400, "PUT", SETS, {"quota_set": {"gigabytes": 6, "volumes": 1}})
    shown = put(api, gigabytes=7, volumes=-1, per_volume_gigabytes=0)
    assert (shown["gigabytes"], shown["volumes"], shown["per_volume_gigabytes"]) == (7, -1, 0)
    with pytest.raises(OverLimit):
        charge(api, 1)


def test_a_renamed_type_keeps_its_limits_and_usage(api: BlockApi) -> None:
    type_id = make_type(api, "fast")
    put(api, volumes_fast=2, gigabytes_fast=50)
    charge(api, 7, type_id)
    api.ok("PUT", f"/types/{type_id}", {"volume_type": {"name": "slow"}})
    shown = api.ok("GET", f"{SETS}?usage=True")["quota_set"]
    assert shown["gigabytes_slow"] == {"limit": 50, "in_use": 7, "reserved": 0}
    assert "volumes_fast" not in shown
    charge(api, 1, type_id)
    with pytest.raises(OverLimit):
        charge(api, 1, type_id)


def test_private_types_are_shown_to_those_who_see_them(api: BlockApi) -> None:
    make_type(api, "secret", **{"os-volume-type-access:is_public": False})
    assert "volumes_secret" in api.ok("GET", SETS)["quota_set"]
    assert "volumes_secret" not in api.ok("GET", SETS, who="member_a")["quota_set"]


def test_the_default_class_holds_for_everybody_without_an_own_limit(api: BlockApi) -> None:
    make_type(api, "fast")
    changed = api.ok("PUT", CLASSES, {"quota_class_set": {"volumes": 4, "gigabytes_fast": 9, "class_name": "default"}})
    assert "id" not in changed["quota_class_set"]
    assert (changed["quota_class_set"]["volumes"], changed["quota_class_set"]["gigabytes_fast"]) == (4, 9)
    assert api.ok("GET", CLASSES)["quota_class_set"]["id"] == "default"
    put(api, volumes=20)
    for project, volumes in ((PROJECT_A, 20), (PROJECT_B, 4)):
        assert api.ok("GET", f"/os-quota-sets/{project}")["quota_set"]["volumes"] == volumes
        defaults = api.ok("GET", f"/os-quota-sets/{project}/defaults")["quota_set"]
        assert (defaults["volumes"], defaults["gigabytes_fast"]) == (4, 9)
    api.ok("DELETE", SETS)
    assert api.ok("GET", SETS)["quota_set"]["volumes"] == 4


def test_other_classes_are_kept_and_hold_for_nobody(api: BlockApi) -> None:
    api.ok("PUT", "/os-quota-class-sets/gold", {"quota_class_set": {"volumes": 99}})
    gold = api.ok("GET", "/os-quota-class-sets/gold")["quota_class_set"]
    assert (gold["id"], gold["volumes"], gold["snapshots"]) == ("gold", 99, 10)
    assert api.ok("GET", SETS)["quota_set"]["volumes"] == 10


def test_a_project_cannot_be_named_like_a_class(api: BlockApi) -> None:
    for owner in ("class:default", "x" * 201):
        for method, body in (("GET", None), ("PUT", {"quota_set": {"volumes": 1}}), ("DELETE", None)):
            api.refused(400, method, f"/os-quota-sets/{owner}", body)
        api.refused(400, "PUT", f"/os-quota-class-sets/{owner}", {"quota_class_set": {"volumes": 1}})


def test_who_may_see_and_set(api: BlockApi) -> None:
    api.ok("GET", SETS, who="reader_a")
    for path in (SETS, f"{SETS}/defaults"):
        api.refused(403, "GET", path, who="member_b")
    api.refused(403, "PUT", SETS, {"quota_set": {"volumes": 1}}, who="member_a")
    api.refused(403, "DELETE", SETS, who="member_a")
    api.refused(403, "GET", CLASSES, who="member_a")
    api.refused(403, "PUT", CLASSES, {"quota_class_set": {"volumes": 1}}, who="member_a")


def test_limits_of_the_own_project(api: BlockApi) -> None:
    charge(api, 7)
    charge(api, 3, project=PROJECT_B)
    assert api.ok("GET", "/limits", who="reader_a") == {
        "limits": {
            "rate": [],
            "absolute": {
                "maxTotalVolumes": 10,
                "maxTotalVolumeGigabytes": 1000,
                "maxTotalSnapshots": 10,
                "maxTotalBackups": 10,
                "maxTotalBackupGigabytes": 1000,
                "totalVolumesUsed": 1,
                "totalGigabytesUsed": 7,
                "totalSnapshotsUsed": 0,
                "totalBackupsUsed": 0,
                "totalBackupGigabytesUsed": 0,
            },
        }
    }
    assert "totalVolumesUsed" not in api.ok("GET", "/limits", who="no_roles_a")["limits"]["absolute"]


def test_limits_of_another_project_are_for_admins_from_3_39_on(api: BlockApi) -> None:
    charge(api, 7)

    def used(query: str, **more: Any) -> int:
        return int(api.ok("GET", f"/limits?{query}", **more)["limits"]["absolute"]["totalGigabytesUsed"])

    for query in (f"project_id={PROJECT_A}", f"tenant_id={PROJECT_A}"):
        assert used(query, version="3.39") == 7
        assert used(query, version="3.38") == 0
        assert used(query, who="member_b") == 0


def test_limits_cost_the_same_however_much_there_is(api: BlockApi) -> None:
    def statements() -> int:
        seen: list[str] = []

        def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("SELECT"):
                seen.append(statement)

        event.listen(Engine, "before_cursor_execute", note)
        api.ok("GET", "/limits", who="member_a")
        event.remove(Engine, "before_cursor_execute", note)
        return len(seen)

    before = statements()
    for number in range(10):
        charge(api, 1, make_type(api, f"t{number}"))
    assert statements() == before == 2
