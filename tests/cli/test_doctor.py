from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pumice.cli import checks, main
from pumice.cli.checks import CHECKS, Case, Finding
from pumice.cli.doctor import examine
from pumice.kernel import config, services
from pumice.kernel.db import migrations
from pumice.kernel.db.base import new_id, utcnow
from pumice.kernel.db.engine import Database
from pumice.kernel.operations.model import Operation
from pumice.kernel.services import Identity
from tests.support.databases import url_of
from tests.support.keystone import Cloud, keystone_authtoken
from tests.support.ports import free_port
from tests.support.processes import write_configuration

NOWHERE = "127.0.0.1:9"
"""Where nothing listens."""


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    """A deployment with a database, whose one backend exports by iSCSI."""
    monkeypatch.setattr(checks, "PATIENCE", 1.0)
    url = url_of(tmp_path / "block.sqlite")
    with closing(Database(url)) as db:
        migrations.upgrade(db, "block")
    (tmp_path / "volumes").mkdir()
    overrides = {
        "DEFAULT": {"state_path": str(tmp_path), "host": "one", "enabled_backends": ["gold"]},
        "database": {"connection": url},
        "keystone_authtoken": {"auth_url": f"http://{NOWHERE}/v3", "username": "u", "password": "p"},
        "gold": {"volume_driver": "file", "directory": str(tmp_path / "volumes"), "target_port": free_port()},
    }
    case = Case("block", config.load("block", (), overrides))
    yield case
    case.db.close()


def of(case: Case, check: str) -> list[Finding]:
    return [finding for name, finding in examine(case) if name == check]


def test_a_database_that_is_away(case: Case) -> None:
    case.conf.set_override("connection", f"mysql+pymysql://u:secret@{NOWHERE}/pumice", group="database")
    (finding,) = of(case, "database")
    assert (finding.wrong, finding.mend) == (True, "Start the server, or set [database] connection to where it is.")
    assert "refused" in finding.text
    assert "secret" not in finding.text
    # What needs the database is not told again.
    assert of(case, "schema") == of(case, "workers") == of(case, "backends") == []


def test_an_empty_database(case: Case, tmp_path: Path) -> None:
    case.conf.set_override("connection", url_of(tmp_path / "empty.sqlite"), group="database")
    (finding,) = of(case, "schema")
    assert (finding.wrong, finding.mend) == (True, "run `pumice db upgrade --service block`.")


def test_a_broker_that_is_away(case: Case) -> None:
    assert [one.wrong for one in of(case, "bus")] == [False]
    case.conf.set_override("transport_url", f"rabbit://u:secret@{NOWHERE}/")
    (finding,) = of(case, "bus")
    assert finding.wrong
    assert "none is lost" in finding.mend


def test_a_lock_service_that_is_away(case: Case) -> None:
    assert [one.wrong for one in of(case, "coordination")] == [False]
    case.conf.set_override("cluster", "many")
    assert [one.wrong for one in of(case, "coordination")] == [False, True]
    case.conf.set_override("backend_url", f"etcd3+http://{NOWHERE}", group="coordination")
    (finding,) = of(case, "coordination")
    assert finding.mend == "Start the lock service, or set [coordination] backend_url to where it is."


def test_a_keystone_that_is_away(case: Case) -> None:
    (finding,) = of(case, "keystone")
    assert finding.text == f"It cannot be asked: Unable to establish connection to http://{NOWHERE}/v3/auth/tokens"
    assert of(case, "catalog") == []


@pytest.mark.real
def test_a_keystone_that_refuses_and_one_without_the_service(case: Case, cloud: Cloud) -> None:
    for name, value in keystone_authtoken(cloud).items():
        case.conf.set_override(name, value, group="keystone_authtoken")
    fine = Finding("The user service has a token, with the roles admin, manager, member, reader, service")
    assert of(case, "keystone") == [fine]
    case.conf.set_override("service_token_roles_required", False, group="keystone_authtoken")
    assert [one.mend for one in of(case, "keystone")] == [
        "",
        "Set [keystone_authtoken] service_token_roles_required = true (CVE-2023-2088).",
    ]
    assert {one.wrong for one in of(case, "clock")} == {False}
    case.conf.set_override("password", "wrong", group="keystone_authtoken")
    again = Case("block", case.conf)
    (refused,) = of(again, "keystone")
    assert refused.wrong
    assert "refuses the user service" in refused.text
    assert of(Case("share", case.conf), "catalog") == []


def test_workers_that_are_away(case: Case) -> None:
    (nobody,) = of(case, "workers")
    assert nobody.text == "No scheduler is up."
    (never,) = of(case, "backends")
    assert never.text == "No worker has ever served one@gold."

    def register(tx: Any) -> None:
        services.register(tx, Identity("one", "cinder-scheduler", "cinder-scheduler"))
        services.beat(
            tx, services.register(tx, Identity("one@gold", "cinder-volume", "cinder-volume")), backend_state="down"
        )
        given = {"kind": "k", "step": "run", "resource_type": "VOLUME", "resource_id": new_id(), "deadline": utcnow()}
        tx.add(Operation(id=new_id(), queue="volume:two@gold", args={}, project_id="p", user_id="u", **given))

    case.db.write(register)
    assert [(one.wrong, one.text) for one in of(case, "workers")] == [
        (False, "cinder-scheduler on one is up"),
        (True, "cinder-volume on one@gold runs, but its backend is down."),
        (True, "1 operations wait for two@gold, which nobody serves."),
    ]
    assert [one.wrong for one in of(case, "backends")] == [False]


def test_exports_that_nobody_serves(case: Case) -> None:
    (finding,) = of(case, "exports")
    address = ("127.0.0.1", case.conf.gold.target_port)
    assert finding.wrong
    assert f"nothing answers on {address[0]}:{address[1]}" in finding.text
    with socket.create_server(address):
        assert of(case, "exports") == [Finding(f"gold: {address[0]}:{address[1]} takes connections")]


def test_clocks_that_differ(case: Case) -> None:
    case.clocks["Keystone"] = -45.2
    (finding,) = of(case, "clock")
    assert (finding.wrong, finding.text) == (True, "This machine's clock and that of Keystone differ by 45 s.")


def test_the_command_exits_1_when_something_is_wrong(tmp_path: Path) -> None:
    file = write_configuration(tmp_path / "block.conf", {"DEFAULT": {"state_path": tmp_path}})
    done = CliRunner().invoke(main, ["--config-file", str(file), "doctor", "--json"])
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert {one["check"] for one in found} <= CHECKS.keys()
    assert {"check": "backends", "wrong": False} not in found
    text = CliRunner().invoke(main, ["--config-file", str(file), "doctor"]).stdout
    assert "WRONG   schema" in text
    assert "→ run `pumice db upgrade --service block`." in text
