import signal

import hypothesis
import pytest

from tests.support import databases

pytest.register_assert_rewrite("tests.support.swept")

# The same examples in each run, however long they take on a busy machine; `--hypothesis-profile default` draws others.
hypothesis.settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("same")

pytest_plugins = ["tests.support.keystone", "tests.support.servers.fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--crash-rounds", type=int, help="Rounds of each test of faults; the full run has 20.")
    parser.addoption("--seed", type=int, default=1, help="Seed of the random actions and moments of crash tests.")
    parser.addoption("--crash-backend", help="File with the section of a backend that a crash test is to run on.")
    parser.addoption(
        "--database",
        help="Where tests make databases of their own instead of SQLite files: `mariadb`, `galera` or `postgresql` for "
        "a server started for the run, or the URL of one.",
    )


def pytest_configure(config: pytest.Config) -> None:
    # A run under `nohup` would hand on that SIGHUP is ignored to the processes that are to reload at it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if (where := config.getoption("--database")) and not hasattr(config, "workerinput"):
        config.add_cleanup(databases.use(where))


def pytest_unconfigure() -> None:
    databases.drop_all()
