"""A rolling upgrade: processes of this release and of one whose schema has more in it work together."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pumice
from tests.cli.test_processes import api, configured, create, status
from tests.support.ports import free_port
from tests.support.processes import Process, until

STEP = """
from alembic import op
from sqlalchemy import Column, String

revision, down_revision = "0003_0002", "0002_0001"


def upgrade():
    op.add_column("volumes", Column("mood", String(36), nullable=False, server_default="calm"))
"""


def next_release(directory: Path) -> Path:
    """A copy of the code whose volumes have one more column, which its API writes."""
    code = directory / "pumice"
    shutil.copytree(Path(pumice.__path__[0]), code, ignore=shutil.ignore_patterns("__pycache__"))
    block = code / "block"
    (block / "migrations" / "versions" / "0003_mood.py").write_text(STEP)
    (block / "migrations" / "__init__.py").write_text('NEWEST = "0003_0002"\n')
    model = block / "volumes" / "model.py"
    column = '    size: Mapped[int]\n    mood: Mapped[str] = mapped_column(String(36), default="glad")\n'
    assert "    size: Mapped[int]\n" in model.read_text()
    model.write_text(model.read_text().replace("    size: Mapped[int]\n", column, 1))
    return directory


def test_both_releases_work_together(tmp_path: Path) -> None:
    file, port = configured(tmp_path, "block")
    new_file = file.with_name("new.conf")
    new_port = free_port()
    new_file.write_text(file.read_text().replace(f"_port = {port}", f"_port = {new_port}"))
    code = next_release(tmp_path / "new")

    def available(volume: str) -> None:
        until(lambda: status(port, volume) == "available", "it is available")

    with ExitStack() as undo:
        served = undo.enter_context(api(file, port))
        scheduler, worker = (undo.enter_context(Process(file, "block", part)) for part in ("scheduler", "volume"))
        for process in (served, scheduler, worker):
            process.ready()
        available(create(port))

        # The schema is upgraded under the old release, which goes on.
        upgraded = subprocess.run(
            [sys.executable, "-c", "from pumice.cli import main; main()", "db", "upgrade"],
            env=os.environ | {"PYTHONPATH": str(code), "PUMICE_CONFIG_FILE": str(file)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert upgraded.stdout == "0003_0002\n"
        available(create(port))

        # Workers of the new release do what an API of the old one accepts,
        assert worker.end() == 0
        worker = undo.enter_context(Process(new_file, "block", "volume", code=code)).ready()
        available(create(port))

        # and back: what a new API accepts, an old worker does, which starts on the new schema.
        served = Process(new_file, "block", port=new_port, module="tests.support.api_process", code=code)
        undo.enter_context(served).ready()
        assert worker.end() == 0
        undo.enter_context(Process(file, "block", "volume")).ready()
        available(create(new_port))
        assert status(new_port, create(new_port)) in {"creating", "available"}
