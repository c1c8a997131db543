from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from pumice.cli import main


def run(file: Path, command: str) -> str:
    result = CliRunner().invoke(main, ["--config-file", str(file), "db", command])
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_upgrade_brings_an_empty_database_to_the_version_that_is_needed(tmp_path: Path) -> None:
    file = tmp_path / "block.conf"
    file.write_text(f"[DEFAULT]\nstate_path = {tmp_path}\n")
    before = run(file, "version")
    assert before.startswith("empty (needed: ")
    newest = run(file, "upgrade")
    assert run(file, "upgrade") == newest
    assert run(file, "version") == f"{newest} (needed: {newest})"
    assert (tmp_path / "block.sqlite").exists()
