from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from prometheus_client import values

from pumice.kernel.metrics import SHARED, Metrics, shared


def scraped(metrics: Metrics) -> str:
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    environ["PATH_INFO"] = "/metrics"
    answers: list[str] = []
    body = b"".join(metrics.wsgi()(environ, lambda status, _headers: answers.append(status)))
    assert answers == ["200 OK"]
    return body.decode()


def test_requests_and_operations_are_measured() -> None:
    metrics = Metrics("block")
    metrics.request("GET", "/volumes/{id}", 200, 0.003)
    metrics.request("GET", "/volumes/{id}", 200, 0.2)
    metrics.operation("volume.create", "failed", 2)
    text = scraped(metrics)
    labels = 'method="GET",route="/volumes/{id}",service="block",status="200"'
    assert f"pumice_request_seconds_count{{{labels}}} 2.0" in text
    assert f'pumice_request_seconds_bucket{{le="0.005",{labels}}} 1.0' in text
    assert 'pumice_operation_seconds_sum{kind="volume.create",outcome="failed",service="block"} 2.0' in text


def test_what_runs_now() -> None:
    metrics = Metrics("block")
    with metrics.running("volume.create").track_inprogress():
        assert 'pumice_operations_running{kind="volume.create",service="block"} 1.0' in scraped(metrics)
    assert 'pumice_operations_running{kind="volume.create",service="block"} 0.0' in scraped(metrics)


def test_sweeps_are_counted() -> None:
    metrics = Metrics("block")
    metrics.sweep(0)
    metrics.sweep(3)
    text = scraped(metrics)
    assert 'pumice_sweeps_total{service="block"} 2.0' in text
    assert 'pumice_swept_operations_total{service="block"} 3.0' in text


def test_depths_and_drops_are_read_at_each_scrape() -> None:
    metrics = Metrics("block")
    depths, reads = {"scheduler": 2}, 0

    def read() -> dict[str, int]:
        nonlocal reads
        reads += 1
        return depths

    metrics.watch_queues(read)
    metrics.watch_drops(lambda: 7)
    assert reads == 0
    text = scraped(metrics)
    assert 'pumice_queue_depth{queue="scheduler",service="block"} 2.0' in text
    assert 'pumice_bus_dropped_total{service="block"} 7.0' in text
    depths["volume@a"] = 1
    assert 'pumice_queue_depth{queue="volume@a",service="block"} 1.0' in scraped(metrics)
    assert reads == 2


def test_a_source_that_fails_costs_only_its_metric(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics("block")

    def away() -> dict[str, int]:
        raise ConnectionError("the database is away")

    metrics.watch_queues(away)
    metrics.sweep(1)
    text = scraped(metrics)
    assert "pumice_queue_depth" not in text
    assert "pumice_sweeps_total" in text
    assert "a metric cannot be read" in caplog.text


def test_two_services_in_one_process_do_not_mix() -> None:
    first, second = Metrics("block"), Metrics("share")
    first.sweep(1)
    assert "share" not in scraped(first)
    assert "pumice_sweeps_total{" not in scraped(second)


def test_what_a_killed_process_has_left_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setenv(SHARED, "")
    left, young = tmp_path / "pumice-metrics-left", tmp_path / "pumice-metrics-young"
    for directory in (left, young):
        directory.mkdir()
    os.utime(left, (1, 1))
    with shared(tmp_path):
        assert not left.exists()
        (mine,) = set(tmp_path.iterdir()) - {young}
        os.utime(mine, (1, 1))
        with shared(tmp_path):
            assert mine.exists()
    assert list(tmp_path.iterdir()) == [young]
