"""Tempest's tests of a service against a running one: selects, configures, runs, and says what passed."""

from __future__ import annotations

import argparse
import configparser
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keystoneauth1.exceptions
import openstack
import subunit
import testtools
import yaml
from suites import SUITES, Pools, Suite

HERE = Path(__file__).resolve().parent


def main() -> int:
    asked = arguments()
    work = asked.cache / "runs" / time.strftime("%Y%m%d-%H%M%S")
    work.mkdir(parents=True, mode=0o700)
    suite = SUITES[asked.service]
    cloud = openstack.connect(cloud=asked.os_cloud)
    with catalog_type(cloud, suite, asked.endpoint) as service:
        pools = pools_of(cloud, suite, service)
        write_configuration(work, cloud, suite, service, pools, settings=asked.set)
        left_out = HERE / suite.left_out
        chosen = selection(listing(work, suite.tests), left_out, suite.facts(pools))
        wanted = [name for name in chosen.selected if re.search(asked.regex, name)]
        if asked.list:
            print(*wanted, sep="\n")
            return 0
        outcome = run(work, wanted, asked.concurrency)
    report(outcome, wanted, chosen.reasons, left_out.name)
    print(f"log: {work / 'tempest.log'}")
    return 0 if outcome.passed.issuperset(wanted) and not outcome.failed else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance/run", description=__doc__)
    parser.add_argument("regex", nargs="?", default="", help="run only what this matches of the selected tests")
    parser.add_argument("--service", choices=SUITES, default="block", help="what to test; block by default")
    parser.add_argument(
        "--os-cloud", default=os.environ.get("OS_CLOUD", "pumice"), help="entry of clouds.yaml, an administrator's"
    )
    parser.add_argument(
        "--endpoint", help="URL of the API (up to /v3 or /v2) to test instead of the one in the catalog"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.OPTION=VALUE",
        type=setting,
        help="an option of tempest.conf; may be given several times",
    )
    parser.add_argument("--concurrency", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the selected tests and run nothing")
    parser.add_argument("--cache", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def setting(text: str) -> tuple[str, str, str]:
    """Section, option and value."""
    if not (found := re.fullmatch(r"([^.=]+)\.([^.=]+)=(.*)", text)):
        raise argparse.ArgumentTypeError(f"{text} is not SECTION.OPTION=VALUE")
    section, option, value = found.groups()
    return section, option, value


@contextlib.contextmanager
def catalog_type(cloud: openstack.connection.Connection, suite: Suite, endpoint: str | None) -> Iterator[str]:
    """The service type to look for in the catalog. Another endpoint gets an entry of its own there meanwhile."""
    if endpoint is None:
        yield suite.catalog_type
        return
    identity: Any = cloud.identity
    name = f"{suite.catalog_type}-under-test"
    for leftover in identity.services(type=name):
        identity.delete_service(leftover)
    service = identity.create_service(type=name, name=name)
    try:
        url = f"{endpoint.rstrip('/')}/%(project_id)s"
        region = cloud.config.get_region_name()
        identity.create_endpoint(service_id=service.id, interface="public", url=url, region_id=region)
        cloud.session.invalidate()  # the token in hand carries the catalog without it
        yield name
    finally:
        identity.delete_service(service)


def pools_of(cloud: openstack.connection.Connection, suite: Suite, service: str) -> Pools:
    """The pools with their capabilities. Exits when the service shows none."""
    try:
        answer = cloud.session.get(
            suite.pools,
            endpoint_filter={"service_type": service, "region_name": cloud.config.get_region_name()},
        )
    except keystoneauth1.exceptions.ClientException as error:
        sys.exit(f"The service does not show its pools: {error}")
    pools: Pools = answer.json()["pools"]
    if not pools:
        sys.exit("The service has no pool: is a worker up?")
    return pools


def write_configuration(
    work: Path,
    cloud: openstack.connection.Connection,
    suite: Suite,
    service: str,
    pools: Pools,
    *,
    settings: Sequence[tuple[str, str, str]],
) -> None:
    identity: Any = cloud.identity
    auth = cloud.config.get_auth_args()
    region = cloud.config.get_region_name()
    domain = identity.get_domain(auth.get("user_domain_id", "default")).name
    options: dict[str, Mapping[str, object]] = {
        "DEFAULT": {"log_file": work / "tempest.log", "debug": True},
        "oslo_concurrency": {"lock_path": work / "locks"},
        "auth": {
            "use_dynamic_credentials": True,
            "create_isolated_networks": False,
            "admin_username": auth["username"],
            "admin_password": auth["password"],
            "admin_project_name": auth["project_name"],
            "admin_domain_name": domain,
            "default_credentials_domain_name": domain,
            "tempest_roles": "member",
        },
        "identity": {
            "uri_v3": f"{auth['auth_url'].rstrip('/').removesuffix('/v3')}/v3",
            "auth_version": "v3",
            "region": region,
        },
        **suite.options(service, region, pools),
    }
    configuration = configparser.RawConfigParser()
    configuration.read_dict(options)
    for section, option, value in settings:
        configuration.read_dict({section: {option: value}})
    with (work / "tempest.conf").open("w") as file:
        os.fchmod(file.fileno(), 0o600)
        configuration.write(file)
    discovery = HERE / "discovery"
    (work / ".stestr.conf").write_text(
        f"[DEFAULT]\ntest_path = {discovery}\ntop_dir = {discovery}\ngroup_regex = ([^\\.]*\\.)*\n"
    )


def stestr(work: Path, *words: str) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TEMPEST_CONFIG_DIR": str(work),
        "OS_TEST_TIMEOUT": "600",
    }
    with (work / "stestr.log").open("ab") as errors:
        return subprocess.Popen(
            [Path(sys.executable).with_name("stestr"), *words],
            cwd=work,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
        )


def listing(work: Path, tests: str) -> list[str]:
    """The ids of all tests of the suite, with their tags."""
    stestr(work, "init").communicate()
    output, _ = stestr(work, "list", tests).communicate()
    return [line for line in output.decode().splitlines() if re.match(tests, line)]


@dataclass(frozen=True)
class Selection:
    selected: list[str]  # ids with tags, as stestr wants them
    reasons: dict[str, int]  # why tests are left out, and how many each time


def selection(ids: Sequence[str], file: Path, facts: Mapping[str, bool]) -> Selection:
    """All tests but those that the file names. Exits when it names one that does not exist."""
    left_out: dict[str, str] = {}
    for group in yaml.safe_load(file.read_text()):
        if not facts.get(group.get("unless", ""), False):
            left_out.update(dict.fromkeys(group["tests"], group["reason"]))
    stale = left_out.keys() - {plain(name) for name in ids}
    if stale or not ids:
        sys.exit("\n".join([f"{file.name} names tests that Tempest does not list:", *sorted(stale)]))
    reasons: dict[str, int] = {}
    for reason in left_out.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    return Selection([name for name in ids if plain(name) not in left_out], reasons)


def plain(test_id: str) -> str:
    return test_id.partition("[")[0]


@dataclass
class Outcome:
    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def take(self, test: Mapping[str, Any]) -> None:
        name, status = str(test["id"]), test["status"]
        if status == "exists":  # the list of tests, which comes first
            return
        details = {key: content.as_text().strip() for key, content in test["details"].items()}
        if status == "success":
            self.passed.add(name)
        elif status == "skip":
            self.skipped[name] = details.get("reason", "")
        elif status == "fail":
            text = "\n".join(value for key, value in details.items() if key.startswith("traceback"))
            self.failed[name] = text.rpartition("\n")[2]
        print(f"{len(self.passed) + len(self.failed) + len(self.skipped):4} {status:8}{plain(name)}", flush=True)


def run(work: Path, wanted: Sequence[str], concurrency: int) -> Outcome:
    (work / "selected").write_text("".join(f"{name}\n" for name in wanted))
    outcome = Outcome()
    words = ("run", "--subunit", "--load-list", "selected", "--concurrency", str(concurrency))
    with stestr(work, *words) as process:
        results = testtools.StreamToDict(outcome.take)
        results.startTestRun()
        subunit.ByteStreamToStreamResult(process.stdout, non_subunit_name="output").run(results)
        results.stopTestRun()
    return outcome


def report(outcome: Outcome, wanted: Sequence[str], reasons: Mapping[str, int], file: str) -> None:
    print(f"\nLeft out, by name in {file}:")
    for reason, count in reasons.items():
        print(f"{count:5}  {reason}")
    silent = set(wanted) - outcome.passed - outcome.failed.keys() - outcome.skipped.keys()
    for title, tests in (
        ("Failed", outcome.failed),
        ("Skipped by Tempest", outcome.skipped),
        ("Not run", dict.fromkeys(silent, "")),
    ):
        if tests:
            print(f"\n{title}:")
            for name, why in sorted(tests.items()):
                print(f"  {plain(name)}\n      {why[:300]}")
    print(
        f"\n{len(wanted)} selected: {len(outcome.passed)} passed, {len(outcome.failed)} failed, "
        f"{len(outcome.skipped)} skipped, {len(silent)} not run; {sum(reasons.values())} left out"
    )


if __name__ == "__main__":
    sys.exit(main())
