from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from pumice.cli import COMMANDS, main


def test_help_names_every_command_without_importing_any() -> None:
    code = (
        "import sys; from pumice.cli import main; main(['--help'], standalone_mode=False); print(*sorted(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name in COMMANDS:
        assert f"  {name} " in out
    modules = out.splitlines()[-1].split()
    assert "pumice.cli" in modules
    assert not {"oslo_config", "sqlalchemy", "keystoneauth1", "openstack", "pumice.kernel"} & set(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_can_be_loaded(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(main, ["frobnicate"]).exit_code == 2


def test_a_wrong_configuration_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    file = tmp_path / "block.conf"
    file.write_text("[DEFAULT]\nquota_volumes = lots\n")
    result = CliRunner().invoke(main, ["--config-file", str(file), "config", "show"])
    assert result.exit_code == 2
    assert result.output.splitlines() == [
        "Error: [DEFAULT] quota_volumes = lots is refused: invalid literal for int() with base 10: 'lots'"
    ]


def test_the_version() -> None:
    assert "version" in CliRunner().invoke(main, ["--version"]).output
