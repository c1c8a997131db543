"""Absolute URLs as the client sees the service: behind proxies, below a path prefix, at a public endpoint."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass

import falcon

_HOST = re.compile(r"(?:[A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_PREFIX = re.compile(r"(?:/[A-Za-z0-9._~%\-]+)*/?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request came to: the public endpoint without a trailing slash, and the path below it."""

    endpoint: str
    path: str

    def next_page(self, query: Iterable[tuple[str, str]], marker: str) -> str:
        """This request's URL with the marker put in; everything else stays, so the next page is of the same
        list. An offset goes: it counted from the first entry."""
        kept = [(name, value) for name, value in query if name not in {"marker", "offset"}]
        return f"{self.endpoint}{self.path}?{urllib.parse.urlencode([*kept, ('marker', marker)])}"


def place(raw: falcon.Request, public_endpoint: str | None) -> Place:
    """The place of a request. A configured endpoint wins over all that proxies say."""
    path = urllib.parse.quote(raw.path)
    if public_endpoint:
        return Place(public_endpoint.rstrip("/"), path)
    prefix = _checked(_PREFIX, raw.get_header("X-Forwarded-Prefix"), "").rstrip("/")
    scheme = _first(raw.get_header("X-Forwarded-Proto")).lower()
    scheme = scheme if scheme in _DEFAULT_PORTS else raw.forwarded_scheme
    scheme = scheme if scheme in _DEFAULT_PORTS else "http"
    host = _checked(_HOST, raw.forwarded_host, raw.netloc)
    port = _first(raw.get_header("X-Forwarded-Port"))
    if port.isdecimal() and port.isascii() and not re.search(r":[0-9]+$", host) and port != _DEFAULT_PORTS[scheme]:
        host = f"{host}:{port}"
    return Place(f"{scheme}://{host}{prefix}{raw.root_path.rstrip('/')}", path)


def _first(value: str | None) -> str:
    """A header's first entry: the proxy nearest to the client."""
    return (value or "").split(",")[0].strip()


def _checked(form: re.Pattern[str], value: str | None, otherwise: str) -> str:
    first = _first(value)
    return first if form.fullmatch(first) else otherwise
