"""What goes wrong in a deployment, chosen and timed by a seed."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import Random
from subprocess import SubprocessError
from typing import Any

from kombu.exceptions import KombuError

from tests.support.loopfs import Filler
from tests.support.many import LEASE, ManyProcesses, Member
from tests.support.relay import Relay
from tests.support.servers.galera import GaleraNode
from tests.support.servers.process import Server
from tests.support.underneath import Underneath

LOG = logging.getLogger(__name__)

GROWING = (
    *("create_volume", "create_volume_from_snapshot", "clone_volume", "extend_volume"),
    *("create_share", "create_share_from_snapshot", "extend_share", "create_snapshot"),
)
"""Calls of drivers that need room."""


@dataclass(frozen=True, slots=True)
class Fault:
    """:param lasts: seconds from its begin to its end, at least and at most"""

    name: str
    begin: Callable[[], object]
    end: Callable[[], object] = lambda: None
    lasts: tuple[float, float] = (0, 0)


Kinds = Mapping[str, Sequence[Fault]]


def play(kinds: Kinds, chance: Random, number: int, span: float) -> None:
    """Let `number` of faults begin within `span` seconds, also at the same time, and all of them end."""
    events: list[tuple[float, str, Callable[[], object]]] = []
    for _ in range(number):
        fault = chance.choice(kinds[chance.choice(sorted(kinds))])
        at, lasts = chance.uniform(0, span), chance.uniform(*fault.lasts)
        events += [(at, f"{fault.name} begins", fault.begin), (at + lasts, f"{fault.name} ends", fault.end)]
    began = time.monotonic()
    for at, what, act in sorted(events, key=lambda event: event[0]):
        time.sleep(max(0.0, began + at - time.monotonic()))
        LOG.info("%4.1f s: %s", at, what)
        act()


def faults_of(deployment: ManyProcesses) -> Kinds:
    """The faults of a deployment: processes die or stand still or have the wrong time, users are cut off, backends are
    full.
    """
    backends = f"{deployment.served.name} backends"
    return {
        "kill": [Fault(f"death of {one.name}", one.kill, one.start, (0, 4)) for one in deployment.members],
        "freeze": [_freeze(one) for one in deployment.members],
        "clock": [fault for one in deployment.members for fault in _clocks(one)],
        "cut off": [_reset(name, relay) for name, relay in deployment.relays.items()],
        "full": [
            _script(deployment, f"full {backends}", {call: {"no_space": True} for call in GROWING}),
            _script(deployment, f"{backends} that refuse all", {"*": {"fail": "not now"}}),
        ],
    }


def faults_underneath(servers: Underneath) -> Kinds:
    """The faults of what services stand on."""
    broker, etcd, database = servers.broker, servers.etcd, servers.database
    return {
        "database": [
            _reset("the database", database),
            Fault("absence of the database", database.shut, database.reopen, (1, 8)),
        ],
        **({"node": [_death(node, servers.nodes) for node in servers.nodes]} if servers.nodes else {}),
        "broker": [
            Fault("absence of the broker", broker.kill, partial(_begin, broker), (0, 10)),
            Fault("purge of all queues", partial(_while_there, broker.purge)),
            Fault("end of all connections to the broker", partial(_while_there, broker.close_connections)),
            _reset("the broker", servers.messages),
        ],
        "etcd": [
            Fault(f"absence of etcd{for_long}", etcd.kill, partial(_begin, etcd), lasts)
            for for_long, lasts in (("", (1, 6)), (" for long", (30, 30)))
        ],
    }


def faults_of_disk(name: str, filler: Filler) -> Kinds:
    return {"disk": [Fault(f"full disk of {name}", filler.fill, filler.free, (1, 6))]}


def together(*kinds: Kinds) -> Kinds:
    """All faults by their kinds."""
    found: dict[str, list[Fault]] = {}
    for one in kinds:
        for kind, faults in one.items():
            found.setdefault(kind, []).extend(faults)
    return found


def _while_there(act: Callable[[], object]) -> None:
    # It may be away, by another fault, or not answer in time.
    with suppress(OSError, AssertionError, KombuError, SubprocessError):
        act()


def _death(node: GaleraNode, nodes: Sequence[GaleraNode]) -> Fault:
    """Unless one is dead already: the others would be no majority."""

    def kill() -> None:
        if all(one.runs for one in nodes):
            node.kill()

    return Fault(f"death of {node.name}", kill, partial(_begin, node), (1, 10))


def _begin(server: Server) -> None:
    if not server.runs:
        server.start()


def _clocks(member: Member) -> list[Fault]:
    if not member.clock:
        return []
    right = partial(member.clock.unlink, missing_ok=True)
    return [
        Fault(f"clock of {member.name} {word}", partial(member.clock.write_text, seconds), right, (1, 6))
        for word, seconds in (("an hour fast", "3600"), ("an hour slow", "-3600"))
    ]


def _script(deployment: ManyProcesses, name: str, faults: dict[str, Any]) -> Fault:
    write = partial(deployment.script.write_text, json.dumps(faults))
    return Fault(name, write, partial(deployment.script.unlink, missing_ok=True), (1, 4))


def _reset(name: str, relay: Relay) -> Fault:
    return Fault(f"reset of all connections to {name}", relay.cut)


def _freeze(member: Member) -> Fault:
    """For longer than a lease."""
    stop, go = partial(member.signal, signal.SIGSTOP), partial(member.signal, signal.SIGCONT)
    return Fault(f"stillness of {member.name}", stop, go, (LEASE + 1, LEASE + 5))
