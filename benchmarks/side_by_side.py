"""Pumice beside the real Cinder and Manila: the same machine, Keystone, database server and broker, in turns.

    make benchmark PEER=/path/to/peer DIR=/path/to/its/directory
    python benchmarks/side_by_side.py PEER DIR [block] [share] [--rounds 3] [--rows 1000] [--database mysql+pymysql]

PEER is the script that sets up and starts the real services, DIR where its `setup` has put them. Both services have
two processes of their API, one scheduler and one worker on a backend that does nothing at once, and as many rows.
Pumice's are one family (`pumice block run`), all of which is started again where the peer starts its API. Within a
round they take turns figure by figure, so that what else the machine does concerns both. Printed are medians
over all rounds, their ratio, and the ratio that is wanted; all samples go to a JSON file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from figures import PARALLEL, Round, Target, fill
from rigs import Peer, Pumice, free_port, load_average

WANTED: dict[str, tuple[str, str, dict[str, float]]] = {
    "detail 1000": ("GET detail?limit=1000", "ms", {"block": 20, "share": 20}),
    "detail 100": ("GET detail?limit=100", "ms", {"block": 15, "share": 15}),
    "one": ("GET one", "ms", {"block": 10, "share": 10}),
    "accept": ("POST accept", "ms", {"block": 12, "share": 12}),
    "available": ("create until available, one by one", "ms", {"block": 10, "share": 10}),
    "parallel": (f"{PARALLEL} parallel creates until available", "ms", {"block": 30, "share": 30}),
    "access": ("access rule until active", "ms", {"share": 10}),
    "gone": ("delete until gone", "ms", {"block": 5, "share": 10}),
    "memory": ("memory (PSS) of all processes, idle", "MiB", {"block": 3, "share": 3}),
    "start": ("first answer after the API's start", "s", {}),
}
SCALE = {"ms": 1000.0, "s": 1.0, "MiB": 1.0}
"""From what a sample is in to what is printed."""
SETTLE = 25.0
"""Seconds that services are left alone before their memory is read. MariaDB too: it counts a table that has grown some
ten seconds later, and until then may look for the rows of a join without an index.
"""
Samples = dict[str, list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", type=Path)
    parser.add_argument("dir", type=Path)
    parser.add_argument("services", nargs="*", default=["block", "share"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--database", default="mysql+mysqldb", help="the client library for MariaDB that Pumice uses")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "pumice-benchmark")
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    for service in arguments.services:
        theirs, ours = measure(arguments, service)
        file = arguments.results / f"{service}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        file.write_text(json.dumps({"peer": theirs, "pumice": ours}))
        print(f"{file}\n")


def measure(arguments: argparse.Namespace, service: str) -> tuple[Samples, Samples]:
    peer = Peer(arguments.peer, arguments.dir, service)
    peer.run("start", peer.name)
    pumice = Pumice(peer, Path(tempfile.mkdtemp(prefix="pumice-bench-")), arguments.database, free_port())
    try:
        with pumice.running() as ours:
            theirs = peer.target()
            for target in (ours, theirs):
                fill(target, arguments.rows)
            samples: tuple[Samples, Samples] = ({}, {})
            time.sleep(SETTLE)
            for one, found in ((peer, samples[0]), (pumice, samples[1])):
                found["memory"] = [one.memory()]
            for number in range(arguments.rounds):
                take_turns((theirs, ours), samples)
                samples[0].setdefault("start", []).append(peer.first_answer(theirs))
                samples[1].setdefault("start", []).append(pumice.first_answer(ours))
                print(f"round {number + 1} of {arguments.rounds}, load {load_average()}", flush=True)
    finally:
        peer.run("stop", peer.name)
    show(service, peer.name, *samples)
    return samples


def take_turns(targets: tuple[Target, Target], samples: tuple[Samples, Samples]) -> None:
    rounds = [Round(target) for target in targets]
    for steps in zip(*(one.steps() for one in rounds), strict=True):
        for step in steps:
            step()
    for one, found in zip(rounds, samples, strict=True):
        for figure, values in one.samples.items():
            found.setdefault(figure, []).extend(values)


def show(service: str, peer: str, theirs: Samples, ours: Samples) -> None:
    print(f"\n{service}, {os.cpu_count()} processors, load {load_average()}")
    print(f"{'figure':42}{peer:>12}{'pumice':>12}{'ratio':>8}{'wanted':>8}")
    for figure, (name, unit, wanted) in WANTED.items():
        if figure not in ours:
            continue
        a, b = (statistics.median(one[figure]) * SCALE[unit] for one in (theirs, ours))
        goal = wanted.get(service)
        mark = "" if goal is None else f"{goal:>8g}" + ("" if a / b >= goal else "  missed")
        print(f"{name + ', ' + unit:42}{a:>12.2f}{b:>12.2f}{a / b:>8.1f}{mark}")


if __name__ == "__main__":
    main()
