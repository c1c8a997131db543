"""The metadata of a resource: the six routes below `<resource>/{id}/metadata`, the same for every resource."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.api.request import Reply
from pumice.kernel.api.routes import MEMBER, READER, Route
from pumice.kernel.api.shapes import Alias, Shape
from pumice.kernel.api.values import Metadata, MetadataValue, mapping
from pumice.kernel.errors import BadRequest, NotFound, PreconditionFailed

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

Meta = dict[str, str]
Change = Callable[[Meta], Meta]


class MetadataBody(Shape, strict=True):
    metadata: Metadata


class MetaBody(Shape, strict=True):
    meta: dict[str, MetadataValue]


_WIDE = mapping(re.compile(r".{1,255}", re.DOTALL), "1 to 255 characters are allowed", shortest=1, longest=1023)
WideMetadata = Annotated[dict[str, str], _WIDE]
"""Metadata of shares and what belongs to them: keys of any characters, and longer values that are not empty."""


class WideBody(Shape):
    metadata: WideMetadata


class WideKeyBody(Shape):
    """One key; older clients write it under `meta`, or under both."""

    metadata: Annotated[WideMetadata, Alias("meta")]


def as_it_is(_req: Request, _row: Any, _before: Meta, after: Meta) -> Meta:
    """The `settle` of metadata that has no keys of its own meaning."""
    return after


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataOf:
    """:param model: has the metadata in its column `meta`
    :param path: of one resource, "/volumes/{id}"
    :param policies: rule of list and show, of create, of update, of delete
    :param guards: conditions of a change
    :param settle: `settle(req, row, before, after)` gives the metadata that a change ends with; raises where the
        caller may not make it
    :param since: first version with the routes
    :param wide: the shares' form: `WideMetadata`, and one key is set by POST
    :param etag_from: first version whose answers carry an Etag and whose PUT honours If-Match
    """

    model: type[Any]
    path: str
    policies: tuple[str, str, str, str]
    guards: Sequence[moves.Guard] = ()
    settle: Callable[[Request, Any, Meta, Meta], Meta] = as_it_is
    wide: bool = False
    since: str = ""
    etag_from: str = ""

    def routes(self) -> list[Route]:
        whole, one = f"{self.path}/metadata", f"{self.path}/metadata/{{key}}"
        get, create, update, delete = self.policies
        body = WideBody if self.wide else MetadataBody

        def row(method: str, path: str, handler: Any, policy: str, **more: Any) -> Route:
            return Route(method, path, handler, policy=policy, load=self.model, since=self.since, **more)

        return [
            row("GET", whole, self.show, get, check=READER),
            row("POST", whole, self.merge, create, check=MEMBER, body=body),
            row("PUT", whole, self.replace, update, check=MEMBER, body=body),
            row("GET", one, self.show_key, get, check=READER),
            row("POST", one, self.post_key, update, check=MEMBER, body=WideKeyBody)
            if self.wide
            else row("PUT", one, self.set_key, update, check=MEMBER, body=MetaBody),
            row("DELETE", one, self.delete_key, delete, check=MEMBER),
        ]

    def show(self, req: Request, row: Any) -> Reply:
        return self._answer(req, row.meta)

    def merge(self, req: Request, row: Any) -> dict[str, Any]:
        return {"metadata": self._change(req, row, lambda meta: meta | req.body.metadata)}

    def replace(self, req: Request, row: Any) -> Reply:
        return self._answer(req, self._change(req, row, lambda _meta: req.body.metadata))

    def show_key(self, _req: Request, row: Any, key: str) -> dict[str, Any]:
        return {"meta": {key: _known(row.meta, key)}}

    def set_key(self, req: Request, row: Any, key: str) -> dict[str, Any]:
        meta: Meta = req.body.meta
        self._set_key(req, row, key, meta)
        return {"meta": meta}

    def post_key(self, req: Request, row: Any, key: str) -> dict[str, Any]:
        meta: Meta = req.body.metadata
        self._set_key(req, row, key, meta)
        return {"metadata": meta}

    def _set_key(self, req: Request, row: Any, key: str, meta: Meta) -> None:
        if list(meta) != [key]:
            raise BadRequest(f"The body must hold the one key that the path names, {key}.")
        self._change(req, row, lambda before: before | meta)

    def delete_key(self, req: Request, row: Any, key: str) -> None:
        def without(meta: Meta) -> Meta:
            _known(meta, key)
            return {name: value for name, value in meta.items() if name != key}

        self._change(req, row, without)

    def _change(self, req: Request, row: Any, change: Change) -> Meta:
        """Apply `change` to the metadata as it is in the moment of the change."""
        wanted = req.header("If-Match") if self._has_etag(req) else None

        def work(tx: Session) -> Meta:
            before: Meta = moves.lock(tx, self.model, row.id).meta
            if wanted is not None and wanted.strip('"') not in ("*", _etag(before)):
                raise PreconditionFailed("The metadata has changed: its Etag is not the one in If-Match.")
            after = self.settle(req, row, before, change(before))
            moves.touch(tx, self.model, row.id, guards=self.guards, meta=after)
            return after

        changed: Meta = req.service.db.write(work)
        return changed

    def _answer(self, req: Request, meta: Meta) -> Reply:
        headers = {"Etag": _etag(meta)} if self._has_etag(req) else {}
        return Reply({"metadata": meta}, headers=headers)

    def _has_etag(self, req: Request) -> bool:
        return bool(self.etag_from) and req.version >= self.etag_from


def _known(meta: Meta, key: str) -> str:
    if key not in meta:
        raise NotFound(f"Metadata key {key} could not be found.")
    return meta[key]


def _etag(meta: Meta) -> str:
    # Not for security: it tells one state of a small map from another.
    return hashlib.sha256(msgspec.json.encode(meta, order="sorted")).hexdigest()[:32]
