"""What `pumice doctor` looks at: each check yields what it found, and what to do about it."""

from __future__ import annotations

import datetime
import email.utils
import queue
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urljoin

import requests
from keystoneauth1 import exceptions as ks_errors
from keystoneauth1 import loading
from keystoneauth1.access import AccessInfo
from keystoneauth1.identity.base import BaseIdentityPlugin
from keystoneauth1.session import Session as KeystoneSession
from oslo_config import cfg
from sqlalchemy import text

from pumice.kernel import config, services
from pumice.kernel.auth.middleware import SECTION
from pumice.kernel.bus import NO_BROKER, make_bus
from pumice.kernel.db import schema
from pumice.kernel.db.engine import Database
from pumice.kernel.locks import Locks
from pumice.kernel.operations.model import queue_depths

PATIENCE = 10.0
"""Seconds that a part of the deployment has for its answer."""
CATALOG = {"block": ("block-storage", "volumev3"), "share": ("shared-file-system", "sharev2")}
"""The service types that clients look for in Keystone's catalog."""
PROTOCOLS = {"nfs": "NFS", "smb": "CIFS"}
"""What addresses of file servers begin with, and the protocol of `export_protocols`."""


@dataclass(frozen=True, slots=True)
class Finding:
    """:ivar mend: what to do; empty when nothing is wrong
    :ivar wrong: whether the service cannot do its work like this
    """

    text: str
    mend: str = ""
    wrong: bool = False


Findings = Iterator[Finding]


@dataclass
class Case:
    """A deployment as one configuration file has it."""

    service: str
    conf: cfg.ConfigOpts
    clocks: dict[str, float] = field(default_factory=dict)
    """Who → seconds that its clock is ahead of this machine's, as checks come across them."""

    @cached_property
    def db(self) -> Database:
        return Database(self.conf.database.connection)

    @cached_property
    def keystone(self) -> KeystoneSession:
        section = self.conf[SECTION]
        verify = False if section.insecure else section.cafile or True
        return KeystoneSession(auth=self._auth, verify=verify, timeout=PATIENCE)

    @property
    def access(self) -> AccessInfo:
        """:raises ClientException: Keystone does not answer, or refuses"""
        return self._auth.get_access(self.keystone)

    @cached_property
    def _auth(self) -> BaseIdentityPlugin:
        auth = loading.load_auth_from_conf_options(self.conf, SECTION)
        assert isinstance(auth, BaseIdentityPlugin)
        return auth


def wrong(text: str, mend: str) -> Finding:
    return Finding(text, mend, wrong=True)


def database(case: Case) -> Findings:
    began = time.monotonic()
    with case.db.engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        took = time.monotonic() - began
        if case.db.is_sqlite:
            yield Finding("SQLite answers: for one machine only")
            return
        version = connection.scalar(text("SELECT version()"))
        now = connection.scalar(
            text("SELECT now()" if "postgresql" in case.db.engine.name else "SELECT utc_timestamp()")
        )
        now = now if now.tzinfo else now.replace(tzinfo=datetime.UTC)
        case.clocks["the database server"] = (now - datetime.datetime.now(datetime.UTC)).total_seconds()
        yield Finding(f"{case.db.engine.name} {version} answers ({took * 1000:.0f} ms with the connection)")
        if case.db.engine.name in {"mysql", "mariadb"}:
            said: dict[str, str] = dict(connection.execute(text("SHOW GLOBAL STATUS LIKE 'wsrep_%'")).all())
            yield from _galera(said)
            if connection.scalar(text("SELECT @@global.read_only")):
                yield wrong("The database server is read-only.", "Let the proxy send writes to the primary server.")


def _galera(said: dict[str, str]) -> Findings:
    if said.get("wsrep_connected") != "ON":
        return
    size = said["wsrep_cluster_size"]
    if (said["wsrep_cluster_status"], said["wsrep_ready"]) != ("Primary", "ON"):
        yield wrong(
            f"This Galera node is {said['wsrep_cluster_status']} and not ready.",
            "Bring the cluster's majority back; have the proxy check `wsrep_ready`.",
        )
    elif int(size) < 3:
        yield Finding(f"The Galera cluster has {size} nodes.", "With three, one may fail.")
    else:
        yield Finding(f"The Galera cluster has {size} nodes, and this one is ready")


def schema_(case: Case) -> Findings:
    try:
        schema.check(case.db, case.service)
    except schema.SchemaError as error:
        yield wrong(str(error).partition(": ")[0] + ".", str(error).partition(": ")[2])
        return
    has, needs = schema.current(case.db), schema.newest(case.service)
    newer = "" if has == needs else f", newer than {needs} of this release, which runs on it"
    yield Finding(f"The schema has version {has}{newer}")


def bus(case: Case) -> Findings:
    if case.conf.transport_url in NO_BROKER:
        yield Finding(
            "There is no message bus: each process finds the others' work by looking for it.",
            "Set transport_url where there is more than one process.",
        )
        return
    heard: queue.Queue[object] = queue.Queue()
    with closing(make_bus(case.conf, f"doctor-{uuid.uuid4().hex[:8]}")) as line:
        line.subscribe("echo", heard.put)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            began = time.monotonic()
            line.publish("echo", {})
            try:
                heard.get(timeout=0.5)
            except queue.Empty:
                continue  # until its own subscription is there, what is published reaches nobody
            yield Finding(f"A message came back through the broker ({(time.monotonic() - began) * 1000:.0f} ms)")
            return
    yield wrong(
        f"No message came back through the broker within {PATIENCE:.0f} s.",
        "See whether it runs, and whether host, user, password and virtual host of transport_url are right. "
        "Until then work is found late, but none is lost.",
    )


def coordination(case: Case) -> Findings:
    url = case.conf.coordination.backend_url
    locks = Locks(case.conf)
    locks.start()
    try:
        with locks.hold(f"doctor-{uuid.uuid4().hex[:8]}", timeout=PATIENCE):
            yield Finding(f"A lock was taken and given back ({url.partition(':')[0]})")
    finally:
        locks.stop()
    if url.startswith("file:") and case.conf.cluster:
        yield wrong(
            "The workers of a cluster have their locks in a directory, which other machines do not see.",
            "Set [coordination] backend_url to etcd3+http://… or zookeeper://….",
        )


def keystone(case: Case) -> Findings:
    section, session = case.conf[SECTION], case.keystone
    try:
        access = case.access
    except ks_errors.Unauthorized:
        yield wrong(
            f"Keystone refuses the user {section.username} of [{SECTION}].",
            "Set username, password, project and domains as Keystone has them.",
        )
        return
    answer = session.get(section.auth_url or section.www_authenticate_uri, authenticated=False)
    if said := email.utils.parsedate_to_datetime(answer.headers["Date"]) if "Date" in answer.headers else None:
        case.clocks["Keystone"] = (said - datetime.datetime.now(datetime.UTC)).total_seconds()
    roles = sorted(access.role_names or ())
    yield Finding(f"The user {access.username} has a token, with the roles {', '.join(roles)}")
    if not {"service", "admin"} & set(roles):
        yield Finding(
            f"The user {access.username} has neither the role service nor admin.",
            "Give it the role service in its project: other services look for it in service tokens.",
        )
    if not section.service_token_roles_required:
        yield Finding(
            "Any role counts in service tokens.",
            f"Set [{SECTION}] service_token_roles_required = true (CVE-2023-2088).",
        )


def catalog(case: Case) -> Findings:
    entries = case.access.service_catalog
    for kind in CATALOG[case.service]:
        urls = entries.get_endpoints_data(service_type=kind, interface="public").get(kind, [])
        if not urls:
            yield wrong(f"The catalog has no public endpoint of the type {kind}.", f"openstack service create {kind} …")
        for endpoint in urls:
            yield from _endpoint(kind, str(endpoint.url))


def _endpoint(kind: str, url: str) -> Findings:
    try:
        answer = requests.get(urljoin(url, "/healthcheck/ready"), timeout=PATIENCE)
    except requests.RequestException as error:
        yield wrong(
            f"{kind} at {url} does not answer ({type(error).__name__}).",
            "See whether an API runs there and the address is the catalog's.",
        )
        return
    if answer.status_code == 200:
        yield Finding(f"{kind} at {url} answers and is ready")
    elif answer.status_code == 503:
        yield wrong(f"{kind} at {url} is not ready: {answer.text[:200]}", "See its log.")
    else:
        yield Finding(f"{kind} at {url} answers {answer.status_code}: this is another service.", "See the catalog.")


def workers(case: Case) -> Findings:
    with case.db.read() as tx:
        rows = services.find(tx)
        waiting = queue_depths(tx)
    if not any(row.binary.endswith("-scheduler") and _up(case, row) for row in rows):
        yield wrong("No scheduler is up.", f"Start `pumice {case.service} scheduler`.")
    for row in rows:
        where = f"{row.binary} on {row.host}"
        if not _up(case, row):
            yield wrong(f"{where} has not reported for {row.age:.0f} s.", "Start it again, or see its log.")
        elif row.backend_state != "up":
            yield wrong(f"{where} runs, but its backend is down.", "Its log says what the backend lacks.")
        elif row.disabled or row.frozen:
            yield Finding(
                f"{where} is {'disabled' if row.disabled else 'frozen'}: {row.disabled_reason or 'no reason'}"
            )
        else:
            yield Finding(f"{where} is up")
    served = {row.cluster or row.host for row in rows if _up(case, row)}
    for name, number in sorted(waiting.items()):
        backend = name.partition(":")[2]
        if backend and backend not in served:
            yield wrong(f"{number} operations wait for {backend}, which nobody serves.", "Start a worker for it.")


def _up(case: Case, row: services.WorkerService) -> bool:
    return services.is_up(row, case.conf.service_down_time)


def backends(case: Case) -> Findings:
    found = config.backends(case.conf, case.service)
    if not found:
        option = config.options_of(case.service).backends
        yield Finding(f"This file enables no backends ({option}): no worker can run with it")
        return
    with case.db.read() as tx:
        known = {row.host: row for row in services.find(tx)}
    for one in found:
        host = f"{one.section.backend_host or case.conf.host}@{one.name}"
        if host in known:
            yield Finding(f"{one.name} is known as {host}")
        else:
            worker = "volume" if case.service == "block" else "share"
            yield wrong(f"No worker has ever served {host}.", f"Start `pumice {case.service} {worker}` with this file.")


def exports(case: Case) -> Findings:
    for one in config.backends(case.conf, case.service):
        for host, port in _portals(one.section):
            try:
                socket.create_connection((host, port), timeout=PATIENCE).close()
            except OSError as error:
                yield wrong(
                    f"{one.name}: nothing answers on {host}:{port}, which clients are told to connect to "
                    f"({error.strerror or error}).",
                    "Start the target or file server, or set the backend's address and port as it has them.",
                )
            else:
                yield Finding(f"{one.name}: {host}:{port} takes connections")


def _portals(section: cfg.ConfigOpts.GroupAttr) -> Iterator[tuple[str, int]]:
    """Addresses that the backend gives to clients: options `X_port` with `X_address` or `X_ip_address` beside them."""
    names = set(section)
    for option in sorted(name for name in names if name.endswith("_port")):
        stem = option.removesuffix("_port")
        address = next((name for name in (f"{stem}_address", f"{stem}_ip_address") if name in names), None)
        used = stem not in PROTOCOLS or PROTOCOLS[stem] in section.export_protocols
        if address and used:
            yield section[address], section[option]


def clock(case: Case) -> Findings:
    allowed = case.conf.service_down_time / 2
    for who, ahead in case.clocks.items():
        text = f"This machine's clock and that of {who} differ by {abs(ahead):.0f} s"
        if abs(ahead) > allowed:
            yield wrong(f"{text}.", "Have all machines follow one time server: workers look dead otherwise.")
        else:
            yield Finding(text)


CHECKS: dict[str, Callable[[Case], Findings]] = {
    "database": database,
    "schema": schema_,
    "bus": bus,
    "coordination": coordination,
    "keystone": keystone,
    "catalog": catalog,
    "workers": workers,
    "backends": backends,
    "exports": exports,
    "clock": clock,
}
