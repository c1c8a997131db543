from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.kernel import config


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_the_sample_changes_nothing_and_all_in_it_is_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = run("config", "sample")
    file = tmp_path / "block.conf"
    file.write_text(text)
    conf, plain = config.load("block", [file]), config.load("block")
    assert {name: conf[name] for name in ("quota_volumes", "report_interval")} == {
        name: plain[name] for name in ("quota_volumes", "report_interval")
    }
    live = [
        line.removeprefix("#")
        for line in text.splitlines()
        if re.match(r"#[a-z0-9_-]+ = .", line) or line.startswith("[")
    ]
    file.write_text("\n".join(line for line in live if "= <" not in line))
    with caplog.at_level(logging.WARNING):
        config.load("block", [file])
    names = "|".join(f"my_{name}" for name in config.drivers("pumice.block.drivers"))
    said = [record.getMessage() for record in caplog.records if record.name == config.__name__]
    unknown = ", ".join(said).partition("no effect: ")[2].split(", ")
    assert [name for name in unknown if name and not re.fullmatch(rf"section \[({names})\]", name)] == []


def test_every_option_has_a_help_text() -> None:
    for group, options in config.catalog(config.options_of("block")).items():
        for option in options:
            assert option.help or group in {"keystone_authtoken", "nova", "service_user"}, f"[{group}] {option.name}"


def test_show_prints_what_is_in_force_and_hides_secrets(tmp_path: Path) -> None:
    file = tmp_path / "block.conf"
    file.write_text(
        "[DEFAULT]\nquota_volumes = 7\ntransport_url = rabbit://u:hush@h\nenabled_backends = one\n"
        "[one]\nvolume_driver = tests.kernel.test_config:SecretiveDriver\npin = 4711\n"
        "[database]\nconnection = mysql+pymysql://u:hush@h/db\n[keystone_authtoken]\npassword = hush\n"
        "[coordination]\nbackend_url = zookeeper://u:hush@h\n"
    )
    text = run("--config-file", str(file), "config", "show")
    assert "quota_volumes = 7\n" in text
    assert "[one]\n" in text
    assert "pin = ***\n" in text
    assert "hush" not in text
    assert "4711" not in text
