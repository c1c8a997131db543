"""`pumice operations` against a real Keystone and a stand-in for the APIs of both services."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pumice.cli import main
from pumice.standalone.keystone import CatalogEntry
from tests.support.keystone import Cloud

pytestmark = pytest.mark.real


class Journal(BaseHTTPRequestHandler):
    """Each look at an operation brings it 50 percent further. The paths of the services begin with their versions."""

    services: dict[str, dict[str, dict[str, Any]]]

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        return self.services[self.path.split("/")[1]]

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        if self.headers.get("X-Auth-Token") is None:
            self.answer(401, {})
        elif name == "operations":
            self.answer(200, {"operations": list(self.rows.values())})
        elif name in self.rows:
            row = self.rows[name]
            row["progress"] = min(100, (row["progress"] or 0) + 50)
            if row["progress"] == 100:
                row["state"] = "failed" if row["error"] else "succeeded"
            self.answer(200, {"operation": row})
        else:
            self.answer(404, {"itemNotFound": {"code": 404, "message": f"Operation {name} could not be found."}})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None: ...


def row(name: str, error: str | None = None, kind: str = "volume.create", day: int = 2) -> dict[str, Any]:
    return {
        "id": name, "kind": kind, "resource_type": "volume", "resource_id": "v-1", "state": "running",
        "step": "build", "progress": None, "created_at": f"2026-01-0{day}T03:04:05", "updated_at": None,
        "error": error, "project_id": "p",
    }  # fmt: skip


@pytest.fixture
def clouds(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Journal.services = {
        "v3": {"op-1": row("op-1"), "op-2": row("op-2", error="no space left")},
        "v2": {"op-3": row("op-3", kind="share.create", day=3)},
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Journal)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    services = (("block-storage", "v3"), ("shared-file-system", "v2"))
    cloud.keystone.catalog([CatalogEntry(one, one, f"{url}/{start}/%(project_id)s") for one, start in services])
    here = {"auth": cloud.login("member_a").auth(), "region_name": "RegionOne"}
    empty = here | {"region_name": "elsewhere"}
    shares = empty | {"shared_file_system_endpoint_override": f"{url}/v2/p"}
    file = tmp_path / "clouds.yaml"
    file.write_text(json.dumps({"clouds": {"here": here, "empty": empty, "shares": shares}}))
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    yield
    server.shutdown()
    thread.join()
    server.server_close()


def run(*arguments: str, cloud: str = "here") -> Result:
    return CliRunner().invoke(main, ["operations", *arguments, "--os-cloud", cloud])


@pytest.mark.usefixtures("clouds")
class TestOperations:
    def test_list(self) -> None:
        result = run("list")
        assert result.exit_code == 0, result.output
        assert "op-1" in result.output
        assert "volume.create" in result.output
        assert [found["id"] for found in json.loads(run("list", "--json").output)] == ["op-3", "op-1", "op-2"]

    def test_show(self) -> None:
        assert "op-1" in run("show", "op-1").output
        assert json.loads(run("show", "op-1", "--json").output)["kind"] == "volume.create"
        assert json.loads(run("show", "op-3", "--json").output)["kind"] == "share.create"

    def test_a_missing_operation_is_an_error_of_one_line(self) -> None:
        result = run("show", "op-9")
        assert result.exit_code == 1
        assert "op-9 could not be found" in result.output
        assert len(result.output.splitlines()) == 1

    def test_watch_ends_with_its_operations(self) -> None:
        result = run("watch", "op-1", "--interval", "0.05")
        assert result.exit_code == 0, result.output
        assert "100%" in result.output
        assert "succeeded" in result.output

    def test_watch_tells_that_one_failed(self) -> None:
        result = run("watch", "op-1", "op-2", "--interval", "0.05")
        assert result.exit_code == 1
        assert "no space left" in result.output

    def test_watch_follows_operations_of_both_services(self) -> None:
        result = run("watch", "op-1", "op-3", "--interval", "0.05")
        assert result.exit_code == 0, result.output
        assert "share.create" in result.output

    def test_an_unknown_cloud_is_an_error_of_one_line(self) -> None:
        result = run("list", cloud="nowhere")
        assert result.exit_code == 1
        assert "nowhere" in result.output
        assert len(result.output.splitlines()) == 1

    def test_only_services_in_the_catalog_are_asked(self) -> None:
        assert [found["id"] for found in json.loads(run("list", "--json", cloud="shares").output)] == ["op-3"]

    def test_a_catalog_without_services_is_an_error_of_one_line(self) -> None:
        result = run("list", cloud="empty")
        assert result.exit_code == 1
        assert "block-storage and shared-file-system" in result.output
        assert len(result.output.splitlines()) == 1
