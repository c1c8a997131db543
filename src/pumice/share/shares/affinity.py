"""Shares that are to be on one pool, or on different ones: hints of a request, kept in the metadata of all of them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from pumice.kernel import moves
from pumice.kernel.errors import BadRequest, NotFound
from pumice.share.shares.model import Share

HINTS = ("same_host", "different_host")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def named(hints: Mapping[str, Any], hint: str) -> list[str]:
    """The ids of shares that a hint names, one or several with commas between.

    :raises BadRequest: it holds something else
    """
    value = hints.get(hint) or ""
    ids = _ids(value) if isinstance(value, str) else [""]
    if not all(_UUID.fullmatch(one) for one in ids):
        raise BadRequest(f"scheduler_hints.{hint} is refused: ids of shares, with commas between, are allowed.")
    return ids


def told(hints: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What the metadata of a share says of the shares that it was made near to or away from."""
    return {_key(hint): ",".join(hints[hint]) for hint in HINTS if hints[hint]}


def tell(tx: Session, share_id: str, hints: Mapping[str, Sequence[str]]) -> None:
    """Let the shares that a new one's hints name know of it.

    :raises NotFound: one of them is gone
    """
    for hint in HINTS:
        for other in sorted(hints[hint]):
            _set(tx, other, hint, lambda ids: [*ids, share_id])


def forget(tx: Session, share: Share) -> None:
    """Let the shares that know of one that goes know of it no more."""
    for hint in HINTS:
        for other in sorted(_ids(share.meta.get(_key(hint), ""))):
            with contextlib.suppress(NotFound):
                _set(tx, other, hint, lambda ids: [id for id in ids if id != share.id])


def _set(tx: Session, share_id: str, hint: str, change: Callable[[list[str]], list[str]]) -> None:
    meta = moves.lock(tx, Share, share_id).meta
    ids = change(_ids(meta.get(_key(hint), "")))
    rest = {key: value for key, value in meta.items() if key != _key(hint)}
    moves.touch(tx, Share, share_id, meta=rest | ({_key(hint): ",".join(ids)} if ids else {}))


def _key(hint: str) -> str:
    return f"__affinity_{hint}"


def _ids(text: str) -> list[str]:
    """Each once, in the order given."""
    return list(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
