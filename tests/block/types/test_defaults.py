"""Default types of projects, whose projects a real Keystone knows."""

from __future__ import annotations

import pytest

from pumice.block.types import routes
from tests.block.conftest import BlockApi, MakeApi
from tests.support.identity import PROJECT_A, PROJECT_ADMIN
from tests.support.keystone import Cloud, keystone_authtoken
from tests.support.ports import free_port

pytestmark = pytest.mark.real


@pytest.fixture
def api(make_api: MakeApi, cloud: Cloud) -> BlockApi:
    return make_api(routes, sections={"keystone_authtoken": keystone_authtoken(cloud)})


def create(api: BlockApi, name: str) -> str:
    return str(api.ok("POST", "/types", {"volume_type": {"name": name}})["volume_type"]["id"])


def test_a_project_gets_a_default_type_of_its_own(api: BlockApi, cloud: Cloud) -> None:
    fast, slow, project = create(api, "fast"), create(api, "slow"), cloud.project_id("member_a")
    path = f"/default-types/{project}"
    api.refused(404, "GET", path)
    put = api.ok("PUT", path, {"default_type": {"volume_type": "fast"}})
    assert put == {"default_type": {"project_id": project, "volume_type_id": fast}}
    assert api.ok("GET", path) == put
    api.ok("PUT", path, {"default_type": {"volume_type": slow}})
    listed = api.ok("GET", "/default-types")
    assert listed == {"default_types": [{"project_id": project, "volume_type_id": slow}]}
    api.ok("DELETE", path, status=204)
    api.ok("DELETE", path, status=204)
    assert api.ok("GET", "/default-types") == {"default_types": []}


def test_the_type_and_the_project_must_exist(api: BlockApi, cloud: Cloud) -> None:
    path = f"/default-types/{cloud.project_id('member_a')}"
    assert "none" in api.refused(400, "PUT", path, {"default_type": {"volume_type": "none"}})
    for body in ({}, {"default_type": {}}, {"default_type": {"volume_type": None}}):
        api.refused(400, "PUT", path, body)
    for stranger in (PROJECT_A, "..%2Fusers", "%3Fx"):
        api.refused(404, "PUT", f"/default-types/{stranger}", {"default_type": {"volume_type": "__DEFAULT__"}})


def test_there_are_no_default_types_before_3_62(api: BlockApi) -> None:
    api.refused(404, "GET", "/default-types", version="3.61")
    api.ok("GET", "/default-types", version="3.62")


def test_without_keystone_no_project_is_known(make_api: MakeApi) -> None:
    nobody = {"auth_type": "password", "auth_url": f"http://127.0.0.1:{free_port()}/v3", "username": "u"}
    section = {**nobody, "password": "p", "project_name": "p", "user_domain_id": "default"}
    api = make_api(routes, sections={"keystone_authtoken": {**section, "project_domain_id": "default"}})
    path = f"/default-types/{PROJECT_ADMIN}"
    api.refused(503, "PUT", path, {"default_type": {"volume_type": "__DEFAULT__"}})


def test_where_callers_are_not_keystones_any_project_will_do(make_api: MakeApi) -> None:
    api = make_api(routes)
    api.ok("PUT", f"/default-types/{PROJECT_ADMIN}", {"default_type": {"volume_type": "__DEFAULT__"}})
    assert len(api.ok("GET", "/default-types")["default_types"]) == 1
