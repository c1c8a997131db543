"""What anybody may ask, without a token."""

from __future__ import annotations

import pytest
import requests

from tests.acceptance.running import Member, Pumice

pytestmark = pytest.mark.real


def get(pumice: Pumice, path: str) -> requests.Response:
    return requests.get(f"{pumice.url}{path}", timeout=10)


def test_the_open_urls(pumice: Pumice) -> None:
    assert get(pumice, "/healthcheck").json() == {"status": "ok"}
    assert get(pumice, "/").status_code == 300
    [version] = get(pumice, "/v3/").json()["versions"]
    assert (version["min_version"], version["version"]) == ("3.0", "3.71")
    assert get(pumice, "/v3/volumes").status_code == 401

    document = get(pumice, "/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert {"get", "post"} <= set(document["paths"]["/volumes"])
    assert document["paths"]["/attachments"]["post"]["x-since"] == "3.27"


def test_metrics_count_requests_and_operations(pumice: Pumice, member: Member) -> None:
    member.make(size=1)
    lines = get(pumice, "/metrics").text.splitlines()
    created = [line for line in lines if line.startswith("pumice_request_seconds_count") and 'route="/volumes"' in line]
    assert any('status="202"' in line and float(line.split()[-1]) >= 1 for line in created), created
    assert any("operation" in line and "volume.create" in line for line in lines)
