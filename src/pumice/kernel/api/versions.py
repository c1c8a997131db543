"""Microversions: the ordered `Version`, and the `Dialect` in which one service's API speaks them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from pumice.kernel.errors import BadRequest, NotAcceptable

_FORM = re.compile(r"([1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


class Version(NamedTuple):
    """A microversion; compares with other versions, tuples and text: `Version(3, 9) < "3.10"`."""

    major: int
    minor: int

    @staticmethod
    @lru_cache(maxsize=1024)
    def parse(text: str) -> Version:
        """Raises ValueError unless the text is MAJOR.MINOR."""
        if found := _FORM.fullmatch(text):
            return Version(int(found[1]), int(found[2]))
        raise ValueError(f"{text!r} is not a version: MAJOR.MINOR is expected")

    def within(self, since: str, until: str) -> bool:
        """Whether it lies between the two, both included; an empty text leaves that side open."""
        return (not since or self >= since) and (not until or self <= until)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def __eq__(self, other: object) -> bool:
        return tuple(self) == (Version.parse(other) if isinstance(other, str) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: tuple[int, ...] | str) -> bool:
        return tuple(self) < _tuple(other)

    def __le__(self, other: tuple[int, ...] | str) -> bool:
        return tuple(self) <= _tuple(other)

    def __gt__(self, other: tuple[int, ...] | str) -> bool:
        return tuple(self) > _tuple(other)

    def __ge__(self, other: tuple[int, ...] | str) -> bool:
        return tuple(self) >= _tuple(other)

    def __hash__(self) -> int:
        return hash((self.major, self.minor))


def _tuple(value: tuple[int, ...] | str) -> tuple[int, ...]:
    return tuple(Version.parse(value) if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one service's API speaks: its paths, its version headers, and rules that differ between services.

    :param service: the name in the version header and in the media type ("volume", "share")
    :param title: the name in the OpenAPI document
    :param base: the first part of every path
    :param header: the request and response header of the microversion
    :param header_names_service: the header's value is "volume 3.42" (and a list of such), not "2.42"
    :param experimental_header: the header without which experimental routes do not exist; empty: none
    :param accepts_latest: the word "latest" selects the maximum
    :param project_optional_from: from this version on, paths exist without the project id too
    :param base_is_open: the versions document at the base path needs neither a token nor a version; where it does, the
        one at the root, which never does, is answered without a version
    :param authorizes_first: who may do something to no row, not even an own one, is refused before the row is looked up
    :param links_always_name_project: links hold the project id even where the request's path does not
    :param wrong_method_status: the answer to a known path with a method that has no handler (404 or 405)
    :param actions_go_missing: an action that only other versions have is answered with 404, as a route would be;
        elsewhere it is an unknown one (400)
    :param unknown_filters_refused_from: below it, filters that are not configured are dropped for
        non-admins, from it on they are refused; empty: always dropped
    :param all_tenants_by_any_word: `all_tenants` means yes with any value that is no false word, also without one
    :param like_filters_from: from this version on lists take `key~=text` filters
    """

    service: str
    title: str
    minimum: Version
    maximum: Version
    base: str
    header: str = "OpenStack-API-Version"
    header_names_service: bool = True
    experimental_header: str = ""
    accepts_latest: bool = True
    project_optional_from: str
    base_is_open: bool = True
    authorizes_first: bool = False
    links_always_name_project: bool = True
    wrong_method_status: int = 404
    actions_go_missing: bool = False
    unknown_filters_refused_from: str = ""
    like_filters_from: str = ""
    all_tenants_by_any_word: bool = False
    updated: str = ""
    documentation: str = "https://docs.openstack.org/"
    media_type: str = ""

    @property
    def open_paths(self) -> frozenset[str]:
        """Paths that need no token."""
        base = {self.base, f"{self.base}/"} if self.base_is_open else set()
        return frozenset({"/", "/openapi.json", f"{self.base}/openapi.json", *base})

    def negotiate(self, header: str | None) -> Version:
        """The version that a request's header asks for; without a header, the minimum.

        Raises BadRequest for a header of another form, NotAcceptable for a version that is not served.
        """
        if header is None:
            return self.minimum
        wanted = self._own_part(header) if self.header_names_service else header.strip()
        if wanted.lower() == "latest" and self.accepts_latest:
            return self.maximum
        try:
            version = Version.parse(wanted)
        except ValueError:
            raise BadRequest(
                f"{self.header}: {wanted!r} is not a version; MAJOR.MINOR is expected, from {self.minimum} "
                f"to {self.maximum}"
            ) from None
        if not self.minimum <= version <= self.maximum:
            raise NotAcceptable(f"version {version} is not served; versions from {self.minimum} to {self.maximum} are")
        return version

    def _own_part(self, header: str) -> str:
        for entry in header.split(","):
            service, _, version = entry.strip().partition(" ")
            if service.lower() == self.service:
                return version.strip()
        raise BadRequest(
            f'{self.header} has no entry for this service; "{self.service} {self.maximum.major}.N" is expected'
        )

    def answer_headers(self, version: Version, experimental: bool) -> dict[str, str]:
        """The headers with which every answer says what version was used."""
        used = f"{self.service} {version}" if self.header_names_service else str(version)
        headers = {self.header: used, "Vary": self.header}
        if self.experimental_header:
            headers[self.experimental_header] = str(experimental)
        return headers

    def document(self, endpoint: str) -> Mapping[str, Any]:
        """The versions document; `endpoint` is the absolute URL that the base path is below."""
        return {
            "versions": [
                {
                    "id": f"v{self.minimum}",
                    "status": "CURRENT",
                    "version": str(self.maximum),
                    "min_version": str(self.minimum),
                    "updated": self.updated,
                    "links": [
                        {"rel": "describedby", "type": "text/html", "href": self.documentation},
                        {"rel": "self", "href": f"{endpoint}{self.base}/"},
                    ],
                    "media-types": [{"base": "application/json", "type": self.media_type}],
                }
            ]
        }
