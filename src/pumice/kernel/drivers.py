"""What drivers of all services have in common: how they fail, what they report of a pool, and its options."""

from __future__ import annotations

import contextlib
import errno
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from oslo_config import cfg

GIB = 1024**3
_PLAIN = re.compile(r"[0-9a-z][0-9a-z.-]{0,79}")

POOL_OPTIONS = [
    cfg.StrOpt(
        "max_over_subscription_ratio",
        default="20.0",
        regex=r"^(auto|[1-9][0-9]*(\.[0-9]+)?)$",
        help="How often a thin pool's total may be promised, 1.0 or more; auto: from what is really used of what was "
        "promised (1 + provisioned / used), 20.0 as long as nothing is provisioned.",
    ),
    cfg.StrOpt("filter_function", help="The DriverFilter's expression for this backend."),
    cfg.StrOpt("goodness_function", help="The GoodnessWeigher's expression for this backend, 0 to 100."),
]
"""Options of every backend's section, whatever service."""


class BackendError(Exception):
    """The backend refused or failed a call. The text goes to the operator's log and, shortened, to the user."""


class NoSpace(BackendError):
    """The backend has no room left for the call."""


class ObjectMissing(BackendError):
    """A source that the call needs (what to clone, what to revert to) is not on the backend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """A sample of one pool, true at the moment it was taken. None = unknown, `float('inf')` = without bound.

    `extra` are further capabilities, which types may ask for.
    """

    name: str
    total_gb: float | None
    free_gb: float | None
    provisioned_gb: float = 0.0
    thin: bool = False
    reserved_percentage: int = 0
    max_over_subscription_ratio: float = 20.0
    filter_function: str | None = None
    goodness_function: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class DriverClass(Protocol):
    """What stands behind a driver's name: the options of a backend's section, and how the driver is made.

    `section` is that section of a loaded ConfigOpts, with `options` registered in it; `name` names the backend
    in logs and messages; `state_dir` exists and is the service's own. Constructing touches nothing: `start` does.
    """

    @property
    def options(self) -> Sequence[cfg.Opt]: ...

    def __call__(self, section: cfg.ConfigOpts.GroupAttr, *, name: str, state_dir: Path) -> Any: ...


def features(driver: Any, optional: Mapping[str, type]) -> frozenset[str]:
    """The names of the optional protocols that a driver, or its class, implements."""
    cls = driver if isinstance(driver, type) else type(driver)
    return frozenset(name for name, protocol in optional.items() if issubclass(cls, protocol))


def declared(section: cfg.ConfigOpts.GroupAttr, *, provisioned_gb: float = 0, used_gb: float = 0) -> dict[str, Any]:
    """The fields of `PoolStats` that a section says by `POOL_OPTIONS`."""
    return {
        "max_over_subscription_ratio": _over_subscription(section.max_over_subscription_ratio, provisioned_gb, used_gb),
        "filter_function": section.filter_function,
        "goodness_function": section.goodness_function,
    }


def _over_subscription(setting: str, provisioned_gb: float, used_gb: float) -> float:
    """The ratio that `max_over_subscription_ratio` stands for at this moment."""
    if setting != "auto":
        return float(setting)
    return 1 + provisioned_gb / used_gb if provisioned_gb and used_gb else 20.0


def checked_uuid(text: str) -> str:
    """For ids that become names of files.

    :raises BackendError: not a UUID in its usual form, 36 characters in lower case
    """
    try:
        if str(uuid.UUID(text)) == text:
            return text
    except ValueError:
        pass
    raise BackendError(f"id {text!r} is refused: a UUID in lower case is allowed")


def checked_name(text: str, what: str = "name") -> str:
    """:raises BackendError: not 1 to 80 of the characters that file names and iSCSI names may hold"""
    if _PLAIN.fullmatch(text):
        return text
    raise BackendError(f"{what} {text!r} is refused: 1 to 80 of 0-9, a-z, '.' and '-' are allowed")


@contextlib.contextmanager
def os_errors(what: str, backend: str) -> Iterator[None]:
    """Turn errors of the operating system into the backend's.

    :param what: what fails then: "deleting volume …"
    """
    try:
        yield
    except FileNotFoundError as error:
        missing = Path(str(error.filename)).name
        raise ObjectMissing(f"{what} failed: {missing} is not on backend {backend}") from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise NoSpace(f"{what} failed: backend {backend} has no space left") from error
        raise BackendError(f"{what} failed on backend {backend}: {error.strerror}") from error
