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


def unknown(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == config.__name__]


@pytest.mark.parametrize("service", ["block", "share"])
def test_the_sample_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture, service: str) -> None:
    file = tmp_path / "block.conf"
    file.write_text(run("config", "sample", "--service", service))
    with caplog.at_level(logging.WARNING):
        conf, plain = config.load(service, [file]), config.load(service)
    assert unknown(caplog) == []
    for group, options in config.catalog(config.options_of(service)).items():
        for name in {option.dest for option in options}:
            if group == config.DEFAULT:
                assert conf[name] == plain[name]
            else:
                assert conf[group][name] == plain[group][name]


def test_all_in_the_sample_is_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text, *backends = run("config", "sample").split("# A backend with the driver ")
    assert len(backends) == len(config.drivers("pumice.block.drivers"))
    file = tmp_path / "block.conf"
    live = [line.removeprefix("#") for line in text.splitlines() if re.match(r"#[\w-]+ = .|\[", line)]
    file.write_text("\n".join(line for line in live if "= <" not in line))
    with caplog.at_level(logging.WARNING):
        config.load("block", [file])
    assert unknown(caplog) == []


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
