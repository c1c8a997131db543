import pytest

pytest_plugins = ["tests.support.keystone"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--crash-rounds", type=int, default=2, help="Rounds of each crash test; the full run has 20.")
    parser.addoption("--seed", type=int, default=1, help="Seed of the random actions and moments of crash tests.")
