from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import update

from pumice.cli import main
from pumice.kernel.db import migrations
from pumice.kernel.db.engine import Database, changed
from pumice.kernel.quotas import Quotas, QuotaUsage


@pytest.mark.parametrize("service", ["block", "share"])
def test_check_names_what_is_off_and_exits_1(tmp_path: Path, service: str) -> None:
    url = f"sqlite:///{tmp_path / 'db'}"
    file = tmp_path / "block.conf"
    file.write_text(f"[database]\nconnection = {url}\n")
    db = Database(url)
    migrations.upgrade(db, service)
    run = ["--config-file", str(file), "quota", "check", "--service", service]
    fine = CliRunner().invoke(main, run)
    assert (fine.exit_code, fine.output) == (0, "All counters are what the rows say.\n")
    db.write(lambda tx: Quotas({}).charge(tx, "p", {"volumes": 1}))
    off = CliRunner().invoke(main, run)
    assert (off.exit_code, off.output) == (1, "project p: volumes counts 1, the rows say 0\n")
    db.write(lambda tx: changed(tx, update(QuotaUsage).values(in_use=0)))
    assert CliRunner().invoke(main, run).exit_code == 0
    db.close()
