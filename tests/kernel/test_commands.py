from __future__ import annotations

import pytest

from pumice.kernel.commands import run
from pumice.kernel.drivers import BackendError, NoSpace


def test_both_outputs_are_told() -> None:
    said = run("sh", "-c", "echo out; echo err >&2; cat")
    assert (said.output, said.errors) == ("out\n", "err\n")


@pytest.mark.parametrize(
    ("command", "error", "text"),
    [
        (["sh", "-c", "echo it is; echo broken >&2; exit 3"], BackendError, r"^broken$"),
        (["sh", "-c", "exit 3"], BackendError, r"^sh ended with 3$"),
        (["ls", "/nowhere"], BackendError, "No such file or directory"),
        (["dd", "if=/dev/zero", "of=/dev/full", "count=1"], NoSpace, "No space left on device"),
        (["no-such-command"], BackendError, "^the command no-such-command is missing$"),
    ],
)
def test_a_failure_is_what_the_command_complained_of(command: list[str], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        run(*command)
    assert type(caught.value) is error


def test_what_takes_too_long_is_ended() -> None:
    with pytest.raises(BackendError, match=r"^sleep did not end within 0\.05 s$"):
        run("sleep", "60", seconds=0.05)
