"""Requests that may be repeated: what adds a resource and has the header Idempotency-Key is carried out once.

The header is that of draft-ietf-httpapi-idempotency-key-header. Its row is written in the transaction that accepts the
request, with the answer: whoever was cut off before the answer sends the request again and gets it. Refusals leave no
row. Rows go after `idempotency_key_retention` (`kernel.housekeeping`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from oslo_db import exception as db_errors
from sqlalchemy.orm import Session

from pumice.kernel.answered import Answered
from pumice.kernel.api.request import Reply
from pumice.kernel.db.base import new_id
from pumice.kernel.db.engine import proven_by
from pumice.kernel.errors import BadRequest, Conflict, Unprocessable

if TYPE_CHECKING:
    from pumice.kernel.api.request import Request

T = TypeVar("T")

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"
PATTERN = r"[\x20-\x7e]{1,255}"
_ALLOWED = re.compile(PATTERN)


class Repeated(Exception):
    """A transaction found that another one has accepted a request with its key."""


@dataclass(frozen=True, slots=True)
class Key:
    """A request's key, and what the request asks for, as digests."""

    key: str
    request: str

    def accept(self, tx: Session, req: Request, work: Callable[[Session], T], answer: Callable[[T], Any]) -> Any:
        """The answer to `work(tx)`, which is kept for repeats.

        :raises Repeated: the work was done already
        """
        id = new_id()
        row = Answered(
            id=id,
            project_id=req.context.project_id or "",
            user_id=req.context.user_id,
            key_hash=self.key,
            request_hash=self.request,
            answer={},
            headers={},
        )
        tx.add(row)
        try:
            # First of all: one with the same key at the same moment waits here for the end of this transaction.
            tx.flush()
        except db_errors.DBDuplicateEntry as error:
            raise Repeated from error
        done = work(tx)
        tx.flush()
        row.answer, row.headers = answer(done), dict(req.reply_headers)
        proven_by(tx, lambda again: again.get(Answered, id) is not None)
        return row.answer

    def once(self, req: Request, call: Callable[[], Any]) -> Any:
        """The answer that was given before, or that of `call`.

        :raises Unprocessable: the key was that of another request
        :raises Conflict: a request with the key is just being accepted
        """
        kept = self._kept(req)
        if kept is not None:
            return kept
        try:
            return call()
        except Repeated:
            kept = self._kept(req)
        if kept is None:  # another node of the database knows it, and this one does not yet
            raise Conflict(f"A request with this {HEADER} is just being accepted: try again.")
        return kept

    def _kept(self, req: Request) -> Reply | None:
        with req.service.db.read() as tx:
            row = tx.scalars(req.own.select(Answered).where(Answered.key_hash == self.key)).one_or_none()
        if row is None:
            return None
        if row.request_hash != self.request:
            raise Unprocessable(f"This {HEADER} was that of another request: a new request needs a new key.")
        return Reply(row.answer, headers={**row.headers, REPLAYED: "true"})


def key_of(req: Request, text: bytes) -> Key | None:
    """The key that a request was sent with, if any.

    :param text: its body, in JSON
    :raises BadRequest: it is no key, or the body holds what cannot be compared with another
    """
    word = req.header(HEADER)
    if word is None:
        return None
    if not _ALLOWED.fullmatch(word):
        raise BadRequest(f"{HEADER} is refused: 1 to 255 printable ASCII characters are allowed.")
    try:
        # With all that shapes skip and never look at.
        body = msgspec.json.encode(msgspec.json.decode(text), order="sorted")
    except msgspec.DecodeError as error:
        raise BadRequest(f"the body cannot be sent with {HEADER}: {error}") from None
    asked = f"{req.raw.method} {req.raw.path} {req.version}\n".encode() + body
    owner = (req.context.project_id, req.context.user_id, word)
    return Key(_digest(msgspec.json.encode(owner)), _digest(asked))


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
