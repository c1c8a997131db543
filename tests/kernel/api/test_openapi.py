from __future__ import annotations

from typing import Any

import pytest

from tests.kernel.api.toy import Toy


@pytest.fixture
def document(toy: Toy) -> Any:
    answer = toy.client.simulate_get("/openapi.json", headers={"X-Test-Identity": "nobody"})
    assert answer.status_code == 200
    assert toy.client.simulate_get("/v3/openapi.json").json == answer.json
    return answer.json


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(one) for one in value.values()))
    return set().union(*(references(one) for one in value)) if isinstance(value, list) else set()


def test_every_reference_leads_somewhere(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert {one.removeprefix("#/components/schemas/") for one in references(document)} <= set(schemas)


def test_bodies_and_answers_are_those_of_the_newest_version(document: Any) -> None:
    create = document["paths"]["/stones"]["post"]
    schemas = document["components"]["schemas"]
    assert create["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/CreateStone"
    }
    new = schemas["NewStone"]
    assert {"size", "name", "display_name", "quarry_id"} <= set(new["properties"])
    assert not [key for key in new["properties"] if "chisel" in key]
    assert (new["required"], new["additionalProperties"]) == (["size"], False)
    assert new["properties"]["size"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2147483647}
    assert "OS-HINTS:hints" in schemas["CreateStone"]["properties"]
    shown = schemas["StoneDetail"]
    assert "stone-host-attr:host" in shown["properties"]
    assert "old" not in shown["properties"]
    assert shown["properties"]["created_at"] == {"type": "string"}
    assert shown["properties"]["veins"]["items"] == {"$ref": "#/components/schemas/Vein"}
    assert {"id", "metadata"} <= set(shown["required"])
    assert not {"tag", "stone-host-attr:host"} & set(shown["required"])


def test_what_adds_something_takes_a_key(document: Any) -> None:
    stones = document["paths"]["/stones"]
    (key,) = stones["post"]["parameters"]
    assert (key["name"], key["in"], key["schema"]["type"]) == ("Idempotency-Key", "header", "string")
    assert "parameters" not in stones["get"]


def test_actions_are_alternatives_of_one_body(document: Any) -> None:
    action = document["paths"]["/stones/{id}/action"]["post"]
    alternatives = action["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    assert [one["required"] for one in alternatives] == [["cut"], ["throw"]]
    assert alternatives[0]["properties"]["cut"] == {"$ref": "#/components/schemas/Cut"}
    assert action["x-actions"]["throw"] == {"summary": "", "x-policy": ["stone:throw"], "x-since": "3.10"}
    assert {"200", "202", "default"} == set(action["responses"])


def test_paths_policies_and_aliases(document: Any) -> None:
    assert document["openapi"] == "3.1.0"
    paths = document["paths"]
    assert "/os-quarries" in paths
    assert paths["/two"]["get"]["x-policy"] == ["stone:list", "stone:two"]
    assert paths["/quarries"]["get"]["x-since"] == "3.10"
    names = [one["name"] for one in paths["/stones/{stone_id}/specs/{key}"]["parameters"]]
    assert names == ["stone_id", "key", "OpenStack-API-Version"]
    assert document["x-policy-rules"]["stone:host"]["check"] == "role:admin"
