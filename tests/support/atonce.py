"""Requests at the same moment, and what is to come of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from falcon.testing import Result

from pumice.kernel.simulation import Simulation

REFUSALS = {400, 403, 404, 409}


def at_once(number: int, call: Callable[[int], Result]) -> list[Result]:
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(call, range(number)))


def codes(answers: list[Result]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


def winner(answers: list[Result], *won: int) -> int:
    """The number of the one request that was accepted (with one of the codes `won`); all others were refused."""
    (number,) = (number for number, answer in enumerate(answers) if answer.status_code in won)
    assert set(codes(answers)) <= {*won} | REFUSALS, [answer.text for answer in answers]
    return number


def made_once(ask: Callable[[], Result], status: int) -> str:
    """The id of what twelve requests with one Idempotency-Key, at the same moment, have made."""
    answers = at_once(12, lambda _: ask())
    assert codes(answers) == {status: 12}, [answer.text for answer in answers]
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == 11
    (id,) = {next(iter(answer.json.values()))["id"] for answer in answers}
    return str(id)


@contextmanager
def held(driver: Simulation[Any]) -> Iterator[None]:
    """No call of a simulated backend returns meanwhile: all requests come while the winner runs."""
    driver.dial("*", hang=True)
    try:
        yield
    finally:
        driver.undial()
        driver.release()
