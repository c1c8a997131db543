from __future__ import annotations

from typing import Any

import pytest

from pumice.block.types import routes
from pumice.block.types.model import DefaultType, VolumeType, VolumeTypeAccess
from pumice.block.volumes.model import Volume
from pumice.kernel.db.scope import everything
from pumice.kernel.notify import Notification
from pumice.kernel.quotas import Quotas
from tests.block.conftest import BlockApi, MakeApi
from tests.support.identity import PROJECT_A, PROJECT_ADMIN, PROJECT_B


@pytest.fixture
def api(make_api: MakeApi) -> BlockApi:
    return make_api(routes)


def create(api: BlockApi, name: str, **more: Any) -> Any:
    return api.ok("POST", "/types", {"volume_type": {"name": name, **more}})["volume_type"]


def private(api: BlockApi, name: str, *projects: str, **more: Any) -> str:
    made = create(api, name, **{"os-volume-type-access:is_public": False, **more})
    api.add(*(VolumeTypeAccess(type_id=made["id"], project_id=one) for one in projects))
    return str(made["id"])


def names(answer: Any) -> list[str]:
    return [one["name"] for one in answer["volume_types"]]


def use(api: BlockApi, type_id: str) -> None:
    api.add(Volume(project_id=PROJECT_A, size=1, status="available", volume_type_id=type_id))


def test_the_key_sets_of_create_update_show_and_list(api: BlockApi) -> None:
    core = {"id", "name", "description", "is_public", "extra_specs"}
    made = create(api, "fast", description="d", extra_specs={"a": "b"})
    assert set(made) == core | {"os-volume-type-access:is_public"}
    assert made["extra_specs"] == {"a": "b"}
    assert made["is_public"] is made["os-volume-type-access:is_public"] is True
    path = f"/types/{made['id']}"
    assert set(api.ok("PUT", path, {"volume_type": {"name": "f"}})["volume_type"]) == core
    full = core | {"os-volume-type-access:is_public", "qos_specs_id"}
    assert set(api.ok("GET", path)["volume_type"]) == full
    listed = api.ok("GET", "/types")
    assert set(listed) == {"volume_types"}
    assert all(set(one) == full for one in listed["volume_types"])
    assert set(api.ok("GET", path, who="member_a")["volume_type"]) == full - {"qos_specs_id"}
    assert set(api.ok("GET", path, who="reader_a")["volume_type"]) == core


@pytest.mark.parametrize("name", ["", "   ", None, 1, "x" * 256])
def test_a_bad_name_is_refused(api: BlockApi, name: Any) -> None:
    assert "name" in api.refused(400, "POST", "/types", {"volume_type": {"name": name}})


def test_names_are_unique(api: BlockApi) -> None:
    create(api, "fast")
    slow = create(api, "slow")
    assert "fast" in api.refused(409, "POST", "/types", {"volume_type": {"name": " fast "}})
    api.refused(409, "PUT", f"/types/{slow['id']}", {"volume_type": {"name": "fast"}})
    api.ok("PUT", f"/types/{slow['id']}", {"volume_type": {"name": "slow"}})


def test_update_changes_what_is_given(api: BlockApi) -> None:
    made = create(api, "fast", description="d")
    path = f"/types/{made['id']}"
    changed = api.ok("PUT", path, {"volume_type": {"description": "e", "is_public": False}})["volume_type"]
    assert (changed["name"], changed["description"], changed["is_public"]) == ("fast", "e", False)
    assert api.ok("PUT", path, {"volume_type": {"is_public": True}})["volume_type"]["is_public"] is True
    for nothing in ({}, {"name": None}, {"name": "  "}, {"is_public": "perhaps"}):
        api.refused(400, "PUT", path, {"volume_type": nothing})
    api.refused(404, "PUT", "/types/none", {"volume_type": {"name": "x"}})


def test_who_sees_which_types(api: BlockApi) -> None:
    private(api, "of a", PROJECT_A)
    private(api, "of admins", PROJECT_ADMIN)
    private(api, "of nobody")
    create(api, "open")
    public = ["open", "__DEFAULT__"]
    assert names(api.ok("GET", "/types", who="reader_a")) == ["open", "of a", "__DEFAULT__"]
    assert names(api.ok("GET", "/types", who="reader_b")) == public
    assert names(api.ok("GET", "/types?is_public=none", who="reader_b")) == public
    assert names(api.ok("GET", "/types")) == ["open", "of admins", "__DEFAULT__"]
    assert names(api.ok("GET", "/types?is_public=true")) == public
    assert names(api.ok("GET", "/types?is_public=False")) == ["of nobody", "of admins", "of a"]
    assert len(names(api.ok("GET", "/types?is_public=None"))) == 5
    assert "is_public" in api.refused(400, "GET", "/types?is_public=perhaps")


def test_a_private_type_of_others_is_not_there(api: BlockApi) -> None:
    type_id = private(api, "of a", PROJECT_A)
    api.ok("GET", f"/types/{type_id}", who="reader_a")
    for path in (f"/types/{type_id}", f"/types/{type_id}/extra_specs", f"/types/{type_id}/extra_specs/multiattach"):
        api.refused(404, "GET", path, who="member_b")


def test_only_admins_change_types(api: BlockApi) -> None:
    made = create(api, "fast", extra_specs={"k": "v"})
    path = f"/types/{made['id']}"
    for method, where, body in (
        ("POST", "/types", {"volume_type": {"name": "x"}}),
        ("PUT", path, {"volume_type": {"name": "x"}}),
        ("DELETE", path, None),
        ("POST", f"{path}/action", {"addProjectAccess": {"project": PROJECT_A}}),
        ("GET", f"{path}/os-volume-type-access", None),
        ("POST", f"{path}/extra_specs", {"extra_specs": {"k": "v"}}),
        ("PUT", f"{path}/extra_specs/k", {"k": "v"}),
        ("DELETE", f"{path}/extra_specs/k", None),
        ("GET", "/default-types", None),
    ):
        api.refused(403, method, where, body, who="member_a")
    api.refused(403, "GET", "/types", who="no_roles_a")


def test_pages_have_links(api: BlockApi) -> None:
    for number in range(3):
        create(api, f"t{number}")
    first = api.ok("GET", "/types?limit=2&sort=name:asc")
    assert names(first) == ["__DEFAULT__", "t0"]
    assert first["volume_type_links"][0]["rel"] == "next"
    query = first["volume_type_links"][0]["href"].partition("?")[2]
    assert names(api.ok("GET", f"/types?{query}")) == ["t1", "t2"]
    api.refused(400, "GET", "/types?sort=colour")
    api.refused(404, "GET", "/types?marker=nothing")


def test_filter_by_extra_specs_shows_nobody_what_is_hidden(api: BlockApi) -> None:
    create(api, "multi", extra_specs={"multiattach": "<is> True", "volume_backend_name": "x"})
    create(api, "plain")
    hidden, visible = (
        "/types?extra_specs={'volume_backend_name': 'x'}",
        "/types?extra_specs={'multiattach': '<is> True'}",
    )
    for who in ("admin", "member_a"):
        assert names(api.ok("GET", visible, who=who, version="3.52")) == ["multi"]
        assert len(names(api.ok("GET", visible, who=who, version="3.51"))) == 3
    assert names(api.ok("GET", hidden)) == ["multi"]
    assert names(api.ok("GET", hidden, who="member_a")) == []
    api.refused(400, "GET", "/types?extra_specs=nonsense")
    api.refused(400, "GET", "/types?name=multi", who="member_a")


def test_extra_specs_that_users_see(api: BlockApi) -> None:
    specs = {"multiattach": "<is> True", "RESKEY:availability_zones": "nova", "volume_backend_name": "x"}
    made = create(api, "multi", extra_specs=specs)
    path = f"/types/{made['id']}"
    visible = {key: value for key, value in specs.items() if key != "volume_backend_name"}
    assert api.ok("GET", path)["volume_type"]["extra_specs"] == specs
    assert api.ok("GET", path, who="reader_a")["volume_type"]["extra_specs"] == visible
    assert api.ok("GET", f"{path}/extra_specs") == {"extra_specs": specs}
    assert api.ok("GET", f"{path}/extra_specs", who="reader_a") == {"extra_specs": visible}
    assert api.ok("GET", f"{path}/extra_specs/volume_backend_name") == {"volume_backend_name": "x"}
    api.refused(404, "GET", f"{path}/extra_specs/volume_backend_name", who="reader_a")
    api.refused(404, "GET", f"{path}/extra_specs/nothing")


def test_extra_specs_are_set_and_removed(api: BlockApi) -> None:
    path = f"/types/{create(api, 'fast', extra_specs={'a': '1'})['id']}/extra_specs"
    assert api.ok("POST", path, {"extra_specs": {"b": "2", "c": None}}) == {"extra_specs": {"b": "2", "c": None}}
    assert api.ok("PUT", f"{path}/a", {"a": "3"}) == {"a": "3"}
    assert api.ok("GET", path) == {"extra_specs": {"a": "3", "b": "2", "c": None}}
    api.ok("DELETE", f"{path}/b", status=202)
    assert api.ok("GET", path) == {"extra_specs": {"a": "3", "c": None}}
    api.refused(404, "DELETE", f"{path}/b")
    api.refused(404, "POST", "/types/none/extra_specs", {"extra_specs": {"a": "b"}})


@pytest.mark.parametrize("body", [{"extra_specs": None}, {"extra_specs": ["a"]}, {}, {"extra_specs": {"a b": "c"}}])
def test_bad_extra_specs(api: BlockApi, body: Any) -> None:
    api.refused(400, "POST", f"/types/{create(api, 'fast')['id']}/extra_specs", body)


@pytest.mark.parametrize("body", [None, {}, {"b": "1"}, {"a": "1", "b": "2"}, {"a": 1}, {"None": "1"}, ["a"]])
def test_the_key_of_the_path_is_the_only_one_in_the_body(api: BlockApi, body: Any) -> None:
    api.refused(400, "PUT", f"/types/{create(api, 'fast')['id']}/extra_specs/a", body)


def test_multiattach_and_cacheable_exclude_one_another(api: BlockApi) -> None:
    both = {"multiattach": "<is> True", "cacheable": "<is> True"}
    api.refused(400, "POST", "/types", {"volume_type": {"name": "x", "extra_specs": both}})
    path = f"/types/{create(api, 'fast', extra_specs={'multiattach': '<is> True'})['id']}/extra_specs"
    api.refused(400, "PUT", f"{path}/cacheable", {"cacheable": "<is> True"})
    api.ok("PUT", f"{path}/cacheable", {"cacheable": "<is> False"})


def test_a_type_in_use_keeps_its_specs_and_is_not_deleted(api: BlockApi) -> None:
    type_id = create(api, "fast", extra_specs={"a": "1"})["id"]
    use(api, type_id)
    assert "in use" in api.refused(400, "DELETE", f"/types/{type_id}")
    api.refused(400, "POST", f"/types/{type_id}/extra_specs", {"extra_specs": {"b": "2"}})
    api.refused(400, "PUT", f"/types/{type_id}/extra_specs/a", {"a": "2"})
    api.ok("PUT", f"/types/{type_id}", {"volume_type": {"name": "renamed"}})


def test_a_deleted_type_leaves_nothing(api: BlockApi) -> None:
    type_id = private(api, "fast", PROJECT_A)
    quotas: Quotas = api.service.quotas

    def charge(tx: Any) -> None:
        quotas.set_limits(tx, PROJECT_A, {f"volumes:{type_id}": 5})
        quotas.charge(tx, PROJECT_A, {f"volumes:{type_id}": 1, "volumes": 1})

    api.db.write(charge)
    api.ok("DELETE", f"/types/{type_id}", status=202)
    api.refused(404, "GET", f"/types/{type_id}")
    api.refused(404, "DELETE", f"/types/{type_id}")
    with api.db.read() as tx:
        assert tx.scalars(everything().select(VolumeTypeAccess)).all() == []
        assert quotas.usages(tx, PROJECT_A) == {"volumes": 1}
        assert quotas.limits(tx, PROJECT_A, [f"volumes:{type_id}"]) == {f"volumes:{type_id}": -1}


def test_default_types_are_not_deleted(api: BlockApi) -> None:
    with api.db.read() as tx:
        (built_in,) = tx.scalars(everything().select(VolumeType))
    assert "configured default" in api.refused(400, "DELETE", f"/types/{built_in.id}")
    type_id = create(api, "fast")["id"]
    api.add(DefaultType(project_id=PROJECT_A, volume_type_id=type_id))
    assert "default of a project" in api.refused(400, "DELETE", f"/types/{type_id}")


def test_the_id_default_is_the_effective_default(make_api: MakeApi, api: BlockApi) -> None:
    api.add(DefaultType(project_id=PROJECT_A, volume_type_id=private(api, "fast")))
    shown = {who: api.ok("GET", "/types/default", who=who)["volume_type"]["name"] for who in ("reader_a", "reader_b")}
    assert shown == {"reader_a": "fast", "reader_b": "__DEFAULT__"}
    other = make_api(routes, default_volume_type="nothing")
    assert "nothing" in other.refused(404, "GET", "/types/default")


def test_access_to_a_private_type(api: BlockApi) -> None:
    type_id = private(api, "fast")
    path, access = f"/types/{type_id}/action", f"/types/{type_id}/os-volume-type-access"
    add = {"addProjectAccess": {"project": PROJECT_A}}
    api.ok("POST", path, add, status=202)
    api.ok("POST", path, {"addProjectAccess": {"project": PROJECT_B}}, status=202)
    assert api.ok("GET", access) == {
        "volume_type_access": [{"volume_type_id": type_id, "project_id": one} for one in (PROJECT_A, PROJECT_B)]
    }
    api.refused(409, "POST", path, add)
    api.ok("GET", f"/types/{type_id}", who="reader_a")
    api.ok("POST", path, {"removeProjectAccess": {"project": PROJECT_A}}, status=202)
    api.refused(404, "GET", f"/types/{type_id}", who="reader_a")
    api.refused(404, "POST", path, {"removeProjectAccess": {"project": PROJECT_A}})
    api.refused(400, "POST", path, {"addProjectAccess": {}})
    api.refused(400, "POST", path, {"somethingElse": {}})


def test_a_public_type_has_no_list_of_access(api: BlockApi) -> None:
    type_id = create(api, "open")["id"]
    api.refused(404, "GET", f"/types/{type_id}/os-volume-type-access")
    for action in ("addProjectAccess", "removeProjectAccess"):
        api.refused(400, "POST", f"/types/{type_id}/action", {action: {"project": PROJECT_A}})


def test_changes_are_told(api: BlockApi) -> None:
    type_id = private(api, "fast")
    api.ok("PUT", f"/types/{type_id}", {"volume_type": {"description": "x"}})
    api.ok("POST", f"/types/{type_id}/extra_specs", {"extra_specs": {"a": "b"}})
    api.ok("PUT", f"/types/{type_id}/extra_specs/a", {"a": "c"})
    api.ok("DELETE", f"/types/{type_id}/extra_specs/a", status=202)
    api.ok("POST", f"/types/{type_id}/action", {"addProjectAccess": {"project": PROJECT_A}}, status=202)
    api.ok("POST", f"/types/{type_id}/action", {"removeProjectAccess": {"project": PROJECT_A}}, status=202)
    api.ok("DELETE", f"/types/{type_id}", status=202)
    api.refused(404, "DELETE", f"/types/{type_id}")
    with api.db.read() as tx:
        told = tx.query(Notification).order_by(Notification.sequence).all()
    assert [one.event_type for one in told] == [
        "volume_type.create",
        "volume_type.update",
        "volume_type_extra_specs.create",
        "volume_type_extra_specs.update",
        "volume_type_extra_specs.delete",
        "volume_type_project.access.add",
        "volume_type_project.access.remove",
        "volume_type.delete",
    ]
    assert told[0].payload["volume_types"]["name"] == "fast"
    assert told[5].payload == {"volume_type_id": type_id, "project_id": PROJECT_A}
