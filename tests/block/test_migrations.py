from __future__ import annotations

from pathlib import Path

from tests.support.migrations import empty_is_refused, steps_lead_to


def test_the_steps_lead_to_the_tables_that_the_code_declares(tmp_path: Path) -> None:
    steps_lead_to("block", tmp_path)


def test_an_empty_database_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    empty_is_refused("block", tmp_path)
