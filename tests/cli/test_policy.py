from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from pumice.cli import main


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_the_sample_has_every_rule_with_its_routes() -> None:
    text = run("policy", "sample")
    assert re.search(r'^#"volume:create": "rule:xena_system_admin_or_project_member"$', text, re.MULTILINE)
    assert re.search(r"^# POST   /volumes$", text, re.MULTILINE)
    assert '#"context_is_admin": "role:admin"' in text


def test_the_list_marks_what_was_overridden(tmp_path: Path) -> None:
    conf, rules = tmp_path / "block.conf", tmp_path / "policy.yaml"
    rules.write_text('"volume:create": "role:builder"\n')
    conf.write_text(f"[oslo_policy]\npolicy_file = {rules}\n")
    lines = run("--config-file", str(conf), "policy", "list").splitlines()
    assert "* volume:create: role:builder" in lines
    assert "  volume:get: rule:xena_system_admin_or_project_reader" in lines
    assert len([line for line in lines if line.startswith("*")]) == 1
