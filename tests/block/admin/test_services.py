from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.block.admin.conftest import HOST, cluster, worker
from tests.block.conftest import BlockApi

CORE = {"binary", "host", "zone", "status", "state", "updated_at", "disabled_reason"}
OF_VOLUMES = {"replication_status", "active_backend_id", "frozen"}


def listed(api: BlockApi, query: str = "", **more: Any) -> Any:
    return api.ok("GET", f"/os-services{query}", **more)["services"]


@pytest.mark.parametrize(
    ("version", "all_have", "volume_has"),
    [
        ("3.0", set(), set()),
        ("3.6", set(), set()),
        ("3.7", {"cluster"}, set()),
        ("3.49", {"cluster"}, {"backend_state"}),
    ],
)
def test_the_key_set_at_each_version(api: BlockApi, version: str, all_have: set[str], volume_has: set[str]) -> None:
    api.add(worker("here", "cinder-scheduler"), worker())
    scheduler, volume = listed(api, version=version)
    assert set(scheduler) == CORE | all_have
    assert set(volume) == CORE | OF_VOLUMES | all_have | volume_has
    assert volume["replication_status"] == "not-capable"
    assert volume["frozen"] is False
    assert volume["updated_at"] is not None


def test_filters(api: BlockApi) -> None:
    api.add(worker("here", "cinder-scheduler"), worker(), worker("here@b"), worker("there@file"))
    assert len(listed(api)) == 4
    assert {one["host"] for one in listed(api, "?host=here")} == {"here", HOST, "here@b"}
    assert {one["host"] for one in listed(api, "?host=here&binary=cinder-volume")} == {HOST, "here@b"}
    assert listed(api, "?binary=cinder-backup") == []


def test_state_is_the_age_of_the_last_report_when_it_is_asked_for(api: BlockApi) -> None:
    api.add(worker("a@b", age=50), worker("c@d", age=70), worker("e@f", backend_state="down"))
    states = {one["host"]: (one["state"], one["backend_state"]) for one in listed(api)}
    assert states == {"a@b": ("up", "up"), "c@d": ("down", "down"), "e@f": ("up", "down")}


def test_disable_and_enable_are_stored(api: BlockApi) -> None:
    api.add(worker())
    answer = api.ok("PUT", "/os-services/disable", {"host": HOST, "binary": "cinder-volume"})
    volume = {"host": HOST, "binary": "cinder-volume", "service": ""}
    assert answer == {**volume, "status": "disabled", "disabled": True}
    assert [(one["status"], one["disabled_reason"]) for one in listed(api)] == [("disabled", None)]
    reason = {"host": HOST, "binary": "cinder-volume", "disabled_reason": " broken disk "}
    answer = api.ok("PUT", "/os-services/disable-log-reason", reason)
    assert answer == {**volume, "status": "disabled", "disabled": True, "disabled_reason": "broken disk"}
    assert [(one["status"], one["disabled_reason"]) for one in listed(api)] == [("disabled", "broken disk")]
    answer = api.ok("PUT", "/os-services/enable", {"host": HOST, "service": "cinder-volume", "cluster": "x"})
    assert answer == {"host": HOST, "binary": "", "service": "cinder-volume", "status": "enabled", "disabled": False}
    assert [(one["status"], one["disabled_reason"]) for one in listed(api)] == [("enabled", None)]


@pytest.mark.parametrize("action", ["enable", "disable", "disable-log-reason"])
def test_services_that_are_none(api: BlockApi, action: str) -> None:
    api.add(worker())
    path, reason = f"/os-services/{action}", {"disabled_reason": "r"}
    api.refused(404, "PUT", path, {"host": "nowhere", "binary": "cinder-volume", **reason})
    api.refused(404, "PUT", path, {"host": HOST, "binary": "cinder-cat", **reason})
    api.refused(400, "PUT", path, {"binary": "cinder-volume", **reason})
    assert "binary" in api.refused(400, "PUT", path, {"host": HOST, **reason})


@pytest.mark.parametrize("reason", [None, "", "  ", "x" * 256, 5])
def test_bad_reasons(api: BlockApi, reason: Any) -> None:
    api.add(worker())
    body = {"host": HOST, "binary": "cinder-volume", "disabled_reason": reason}
    api.refused(400, "PUT", "/os-services/disable-log-reason", body)


def test_unknown_actions_do_not_exist(api: BlockApi) -> None:
    api.refused(404, "PUT", "/os-services/dance", {"host": HOST})


def test_freeze_and_thaw(api: BlockApi) -> None:
    api.add(worker())
    frozen = {"host": HOST}
    assert api.ok("PUT", "/os-services/freeze", frozen) is None
    assert listed(api)[0]["frozen"] is True
    assert "already" in api.refused(400, "PUT", "/os-services/freeze", frozen)
    api.ok("PUT", "/os-services/thaw", frozen)
    assert listed(api)[0]["frozen"] is False
    api.refused(400, "PUT", "/os-services/thaw", frozen)
    api.refused(400, "PUT", "/os-services/freeze", {"host": "invalid_host"})
    api.refused(400, "PUT", "/os-services/freeze", {})


def test_clusters_are_frozen_from_3_26_on(api: BlockApi) -> None:
    api.add(cluster("c@file"), worker("a@file", cluster="c@file"), worker("b@file", cluster="c@file"))
    api.refused(400, "PUT", "/os-services/freeze", {"cluster": "c@file"}, version="3.25")
    api.refused(400, "PUT", "/os-services/freeze", {"cluster": "c@file", "host": "a@file"}, version="3.26")
    api.ok("PUT", "/os-services/freeze", {"cluster": "c@file"}, version="3.26")
    assert [one["frozen"] for one in listed(api)] == [True, True]


def test_nothing_fails_over_without_replication(api: BlockApi) -> None:
    api.add(worker())
    assert "not-capable" in api.refused(400, "PUT", "/os-services/failover_host", {"host": HOST, "backend_id": "b"})
    api.refused(400, "PUT", "/os-services/failover_host", {"host": "nowhere"})
    api.refused(400, "PUT", "/os-services/failover_host", {})


@pytest.fixture
def logger() -> Any:
    made = logging.getLogger("pumice.test_levels.one")
    before = made.level
    yield made
    made.setLevel(before)


def test_levels_of_loggers_are_read_and_changed(api: BlockApi, logger: logging.Logger) -> None:
    name = logger.name
    for binary in ("", "*", "cinder-api"):
        body = {"binary": binary, "server": None, "prefix": "pumice.test_levels", "level": "debug"}
        api.ok("PUT", "/os-services/set-log", body, status=202)
        answer = api.ok("PUT", "/os-services/get-log", {"binary": binary, "prefix": "pumice.test_levels"})
        assert answer == {"log_levels": [{"host": "here", "binary": "cinder-api", "levels": {name: "DEBUG"}}]}
    assert logger.level == logging.DEBUG


def test_levels_of_others_are_not_touched(api: BlockApi, logger: logging.Logger) -> None:
    logger.setLevel(logging.ERROR)
    for meant in ({"binary": "cinder-volume"}, {"server": "elsewhere"}):
        api.ok("PUT", "/os-services/set-log", {"prefix": "pumice.test_levels", "level": "INFO", **meant}, status=202)
        assert api.ok("PUT", "/os-services/get-log", meant) == {"log_levels": []}
    assert logger.level == logging.ERROR


def test_bad_levels(api: BlockApi) -> None:
    assert "LOUD" in api.refused(400, "PUT", "/os-services/set-log", {"level": "LOUD"})
    api.refused(400, "PUT", "/os-services/set-log", {})
    api.refused(400, "PUT", "/os-services/get-log", {"binary": "cinder-cat"})
    api.refused(404, "PUT", "/os-services/get-log", {}, version="3.31")
    api.refused(404, "PUT", "/os-services/set-log", {"level": "INFO"}, version="3.31")


def test_only_admins(api: BlockApi) -> None:
    api.add(worker())
    body = {"host": HOST, "binary": "cinder-volume", "disabled_reason": "r", "level": "INFO"}
    for action in ("enable", "disable", "disable-log-reason", "freeze", "thaw", "failover_host", "set-log"):
        api.refused(403, "PUT", f"/os-services/{action}", body, who="member_a")
    api.refused(403, "GET", "/os-services", who="member_a")
    api.refused(403, "PUT", "/os-services/get-log", {}, who="member_a")
