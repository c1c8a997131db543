from __future__ import annotations

import json
from pathlib import Path

from pumice.block.admin import routes
from pumice.block.admin.catalog import EXTENSIONS
from tests.block.admin.conftest import worker
from tests.block.conftest import BlockApi, MakeApi


def test_extensions(api: BlockApi) -> None:
    listed = api.ok("GET", "/extensions", who="no_roles_a")["extensions"]
    assert len({one["alias"] for one in listed}) == len(EXTENSIONS)
    for one in listed:
        assert set(one) == {"alias", "name", "updated", "description", "links"}
        assert one["links"] == []
        assert api.ok("GET", f"/extensions/{one['alias']}") == {"extension": one}
    assert api.ok("GET", "/extensions/os-hosts")["extension"]["name"] == "Hosts"
    api.refused(404, "GET", "/extensions/os-cats")


def test_a_zone_is_available_where_an_enabled_worker_runs(api: BlockApi) -> None:
    assert api.ok("GET", "/os-availability-zone", who="reader_a") == {"availabilityZoneInfo": []}
    api.add(worker("a@b", availability_zone="off", disabled=True), worker("c@d", availability_zone="one"))
    api.add(worker("e@f", availability_zone="one", disabled=True))
    api.add(worker("here", "cinder-scheduler", availability_zone="elsewhere"))
    assert api.ok("GET", "/os-availability-zone", who="reader_a")["availabilityZoneInfo"] == [
        {"zoneName": "off", "zoneState": {"available": False}},
        {"zoneName": "one", "zoneState": {"available": True}},
    ]


def test_the_filters_that_lists_take(api: BlockApi) -> None:
    listed = api.ok("GET", "/resource_filters", who="reader_a", version="3.33")["resource_filters"]
    assert {"resource": "pool", "filters": ["name", "volume_type"]} in listed
    one = api.ok("GET", "/resource_filters?resource=volume_type")
    assert one == {"resource_filters": [{"resource": "volume_type", "filters": ["is_public", "extra_specs"]}]}
    assert api.ok("GET", "/resource_filters?resource=cat") == {"resource_filters": []}
    api.refused(404, "GET", "/resource_filters", version="3.32")


def test_an_operator_names_other_filters(make_api: MakeApi, tmp_path: Path) -> None:
    file = tmp_path / "filters.json"
    file.write_text(json.dumps({"pool": ["name"]}))
    api = make_api(routes, resource_query_filters_file=str(file))
    assert api.ok("GET", "/resource_filters?resource=pool")["resource_filters"][0]["filters"] == ["name"]
    api.refused(400, "GET", "/scheduler-stats/get_pools?volume_type=x")
