from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pumice.kernel.api.versions import Dialect, Version
from pumice.kernel.errors import ApiError, BadRequest, NotAcceptable
from tests.kernel.api.toy import DIALECT, Toy

SHARE = Dialect(
    service="share",
    title="Shares",
    minimum=Version(2, 0),
    maximum=Version(2, 99),
    base="/v2",
    header="X-OpenStack-Manila-API-Version",
    header_names_service=False,
    experimental_header="X-OpenStack-Manila-API-Experimental",
    accepts_latest=False,
    project_optional_from="2.60",
)


def test_versions_compare_by_number_with_versions_tuples_and_text() -> None:
    version = Version(3, 9)
    assert version < "3.10"
    assert version <= "3.9"
    assert version >= (3, 9)
    assert version > Version(3, 8)
    assert version == "3.9"
    assert version == (3, 9)
    assert version != "3.10"
    assert {Version(3, 9): 1}[Version.parse("3.9")] == 1
    assert str(version) == "3.9"
    assert max(Version(3, 9), Version(3, 10)) == "3.10"


@pytest.mark.parametrize(
    ("since", "until", "within"),
    [
        ("", "", True),
        ("3.9", "", True),
        ("3.10", "", False),
        ("", "3.9", True),
        ("", "3.8", False),
        ("3.1", "3.20", True),
    ],
)
def test_a_range_includes_both_ends(since: str, until: str, within: bool) -> None:
    assert Version(3, 9).within(since, until) is within


@pytest.mark.parametrize(
    "text", ["", "3", "3.", ".1", "3.01", "03.1", "3.1.1", "v3.1", "3.-1", "3. 1", "3.٣", "3." + "9" * 50]
)
def test_other_forms_are_no_versions(text: str) -> None:
    with pytest.raises(ValueError, match=r"MAJOR\.MINOR"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("header", "version"),
    [
        (None, "3.0"),
        ("volume 3.27", "3.27"),
        ("Volume  3.27 ", "3.27"),
        ("volume latest", "3.71"),
        ("compute 2.90, volume 3.5,volume 3.9", "3.5"),
        ("volume 3.0", "3.0"),
        ("volume 3.71", "3.71"),
    ],
)
def test_the_first_entry_of_the_service_counts(header: str | None, version: str) -> None:
    assert DIALECT.negotiate(header) == version


@pytest.mark.parametrize(
    ("header", "error"),
    [
        ("volume 3.72", NotAcceptable),
        ("volume 2.0", NotAcceptable),
        ("volume 4.0", NotAcceptable),
        ("volume three", BadRequest),
        ("volume", BadRequest),
        ("volume 3", BadRequest),
        ("3.27", BadRequest),
        ("compute 2.1", BadRequest),
        ("", BadRequest),
        ("volumes 3.1", BadRequest),
    ],
)
def test_other_headers_are_refused(header: str, error: type[ApiError]) -> None:
    with pytest.raises(error):
        DIALECT.negotiate(header)


def test_a_dialect_whose_header_is_the_bare_version() -> None:
    assert SHARE.negotiate(None) == "2.0"
    assert SHARE.negotiate("2.65") == "2.65"
    for refused in ("latest", "share 2.65", "x"):
        with pytest.raises(BadRequest):
            SHARE.negotiate(refused)
    with pytest.raises(NotAcceptable):
        SHARE.negotiate("2.100")
    assert SHARE.answer_headers(Version(2, 65), experimental=True) == {
        "X-OpenStack-Manila-API-Version": "2.65",
        "Vary": "X-OpenStack-Manila-API-Version",
        "X-OpenStack-Manila-API-Experimental": "True",
    }


def test_every_answer_says_the_version_used(toy: Toy) -> None:
    for path, version, said in (
        ("/quarries", "3.27", "volume 3.27"),
        ("/quarries", None, "volume 3.0"),
        ("/quarries", "latest", "volume 3.71"),
        ("/stones/unknown", "3.27", "volume 3.27"),
        ("/bug", "3.27", "volume 3.27"),
        ("/quarries", "3.99", "volume 3.0"),
        ("/nothing", "3.27", "volume 3.0"),
    ):
        answer = toy.call("GET", path, version=version)
        assert answer.headers["OpenStack-API-Version"] == said, path
        assert answer.headers["Vary"] == "OpenStack-API-Version"


def test_refused_versions_are_answered_as_faults(toy: Toy) -> None:
    assert toy.call("GET", "/quarries", version="3.72").json == {
        "computeFault": {"code": 406, "message": "version 3.72 is not served; versions from 3.0 to 3.71 are"}
    }
    answer = toy.call("GET", "/quarries", version="new")
    assert (answer.status_code, list(answer.json)) == (400, ["badRequest"])


@pytest.mark.parametrize(("path", "status"), [("/", 300), ("/v3", 200), ("/v3/", 200)])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_the_versions_document_needs_no_token(toy: Toy, method: str, path: str, status: int) -> None:
    answer = toy.client.simulate_request(
        method, path, headers={"X-Test-Identity": "nobody", "OpenStack-API-Version": "volume nonsense"}
    )
    assert answer.status_code == status
    assert answer.json == {
        "versions": [
            {
                "id": "v3.0",
                "status": "CURRENT",
                "version": "3.71",
                "min_version": "3.0",
                "updated": "2023-08-31T00:00:00Z",
                "links": [
                    {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
                    {"rel": "self", "href": "http://falconframework.org/v3/"},
                ],
                "media-types": [
                    {"base": "application/json", "type": "application/vnd.openstack.volume+json;version=3"}
                ],
            }
        ]
    }


def test_open_paths_are_those_of_the_base() -> None:
    assert DIALECT.open_paths == {"/", "/v3", "/v3/", "/openapi.json", "/v3/openapi.json"}
    closed = dataclasses.replace(DIALECT, base="/v2", base_is_open=False)
    assert closed.open_paths == {"/", "/openapi.json", "/v2/openapi.json"}


def test_the_base_path_of_others_agrees_on_a_version_and_the_root_names_none(tmp_path: Path) -> None:
    toy = Toy(tmp_path, dataclasses.replace(DIALECT, base_is_open=False))
    for asked, status, said in ((None, 200, "3.0"), ("3.71", 200, "3.71"), ("3.72", 406, "3.0"), ("1.2.1", 400, "3.0")):
        headers = {"X-Test-Identity": "member_a", **({"OpenStack-API-Version": f"volume {asked}"} if asked else {})}
        answer = toy.client.simulate_get("/v3/", headers=headers)
        assert answer.status_code == status
        assert answer.headers["OpenStack-API-Version"] == f"volume {said}"
        assert answer.headers["Vary"] == "OpenStack-API-Version"
    root = toy.client.simulate_get("/", headers={"OpenStack-API-Version": "volume 3.71"})
    assert root.status_code == 300
    assert not {"openstack-api-version", "vary"} & {name.lower() for name in root.headers}
