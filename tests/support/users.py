"""Users who do one random thing after the other, right and wrong ones, from a seed."""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

import requests

from tests.support.deployment import Deployment, made_by
from tests.support.served import Ask

LOG = logging.getLogger(__name__)

SAMPLE = 15
"""To how many things of a kind users turn at a time, so that they come across each other."""

Thing = dict[str, Any]
Things = dict[str, list[Thing]]


@dataclass(frozen=True, slots=True)
class Listed:
    """What users look at before they act; a thing that belongs to another has that one as its `of`.

    :param key: of the list in the answer
    :param of: the name of those whose things are listed, by a `path` with their {id}
    :param kept: also those that were listed before and are no more
    """

    name: str
    path: str
    key: str
    of: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """:param ask: from what is random, a thing and all that there is, to a request
    :param on: the name of the things that it is done to; "" for what needs none
    """

    ask: Callable[[random.Random, Thing, Things], Ask]
    on: str = ""
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Repertoire:
    """:param faults: beginnings of paths that may answer with an error of the server: it failed, or took too long"""

    listed: Sequence[Listed]
    actions: Sequence[Action]
    faults: tuple[str, ...] = ()


class Users:
    """:param seed: the same seed and the same answers give the same actions
    :ivar accepted: ids of the operations that answers told of
    :ivar made: key → id of what answers told to be made
    :ivar replayed: keys of requests that had been accepted when they were sent again
    """

    def __init__(self, deployment: Deployment, repertoire: Repertoire, seed: int) -> None:
        self._deployment = deployment
        self._repertoire = repertoire
        self._random = random.Random(seed)
        self._kept: dict[str, dict[str, Thing]] = {listed.name: {} for listed in repertoire.listed if listed.kept}
        self._keys = (f"{seed} {number}" for number in itertools.count())
        self._unanswered: list[Ask] = []
        self.accepted: set[str] = set()
        self.made: dict[str, str] = {}
        self.replayed: set[str] = set()

    def act(self, actions: int) -> None:
        """Ask for so many things at once, on what there is now."""
        self.send(self.choose(actions))

    def choose(self, actions: int) -> list[Ask]:
        near, things = self._look()
        possible = [action for action in self._repertoire.actions if not action.on or near[action.on]]
        chosen = self._random.choices(possible, [action.weight for action in possible], k=actions)
        asked = [
            action.ask(self._random, self._random.choice(near[action.on]) if action.on else {}, things)
            for action in chosen
        ]
        return [ask._replace(key=next(self._keys)) if self._deployment.served.adds(ask) else ask for ask in asked]

    def send(self, asked: Sequence[Ask]) -> None:
        """All at once; answers may be refusals or a broken connection."""
        with ThreadPoolExecutor(len(asked)) as pool:
            list(pool.map(self._ask, asked))

    def repeat(self) -> None:
        """Ask again for what adds something and was not answered, until it is."""
        asked, self._unanswered = self._unanswered, []
        for ask in asked:
            self._deployment.until(partial(self._answered, ask), 240, f"{ask} is answered")
        LOG.info("sent again: %d requests; accepted before, in all: %d", len(asked), len(self.replayed))

    def _look(self) -> tuple[Things, Things]:
        """Of what there is, that to which users turn now; and all."""
        near: Things = {}
        things: Things = {}
        for listed in self._repertoire.listed:
            owners = near[listed.of] if listed.of else [{"id": None}]
            found = [
                {**one, "of": owner} for owner in owners for one in self._list(listed.path.format(**owner), listed.key)
            ]
            if listed.kept:
                self._kept[listed.name] |= {one["id"]: one for one in found}
                found = list(self._kept[listed.name].values())
            things[listed.name] = found
            near[listed.name] = self._random.sample(found, min(len(found), SAMPLE))
        return near, things

    def _list(self, path: str, key: str) -> list[Thing]:
        try:
            answer = self._deployment.call("GET", path, who="admin_a")
        except requests.RequestException:
            return []  # nobody answers just now
        return answer.json()[key] if answer.ok else []

    def _ask(self, ask: Ask) -> None:
        """What adds something is asked for a second time at once, when the first may still be under way; it may yet be
        accepted where the second is refused.
        """
        if not self._answered(ask) and ask.key and not (self._answered(ask) and ask.key in self.made):
            self._unanswered.append(ask)

    def _answered(self, ask: Ask) -> bool:
        """Ask; False where the answer tells nothing of what has become of the request."""
        try:
            answer = self._deployment.call(*ask)
        except requests.RequestException:
            return False  # killed before the answer
        busy = answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE
        assert answer.status_code < 500 or busy or ask.path.startswith(self._repertoire.faults), (ask, answer.text)
        if answer.ok and (operation := answer.headers.get("X-Operation-Id")):
            self.accepted.add(operation)
        if answer.ok and ask.key:
            made = made_by(answer.json())
            assert self.made.setdefault(ask.key, made) == made, ask
            if "Idempotency-Replayed" in answer.headers:
                self.replayed.add(ask.key)
        return answer.status_code < 500 and "just being accepted" not in answer.text
