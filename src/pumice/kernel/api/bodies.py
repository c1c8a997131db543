"""Request bodies before their shape is known: size, media type, and what no shape may hold."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import falcon
import msgspec

from pumice.kernel.errors import BadRequest, NotFound, OverLimit, UnsupportedMediaType

_DEEPEST = 64
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_JSON = re.compile(r"application/(?:[\w.\-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_ACTION = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read(raw: falcon.Request, most: int) -> bytes:
    """The body's bytes, at most `most` of them; empty where there is none.

    Raises OverLimit for a longer one, UnsupportedMediaType where it says to be anything but JSON.
    """
    if (raw.content_length or 0) > most:
        raise OverLimit(f"the body of {raw.content_length} bytes is too large: {most} bytes are allowed")
    chunked = raw.content_length is None and "chunked" in raw.env.get("HTTP_TRANSFER_ENCODING", "").lower()
    text: bytes = (raw.stream if chunked else raw.bounded_stream).read(most + 1)
    if len(text) > most:
        raise OverLimit(f"the body is too large: {most} bytes are allowed")
    if text and raw.content_type and not _JSON.fullmatch(raw.content_type.strip()):
        raise UnsupportedMediaType(f"{raw.content_type!r} is not accepted: application/json is")
    check_text(text)
    return text


def action(text: bytes, known: set[str], missing: Collection[str] = ()) -> tuple[str, msgspec.Raw]:
    """The key of an action's body, and the JSON text under it.

    Raises NotFound where it is not one of `known` but of `missing`, BadRequest where it is neither.
    """
    try:
        body = _ACTION.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not a JSON object: {error}") from None
    keys = [key for key in body if key != "type"]
    if len(keys) == 1 and keys[0] not in known and keys[0] in missing:
        raise NotFound(f"the action {keys[0]} does not exist at this version; there are: {', '.join(sorted(known))}")
    if len(keys) != 1 or keys[0] not in known:
        given = ", ".join(keys)[:200] or "none"
        raise BadRequest(f"one action is expected, got {given}; allowed here are: {', '.join(sorted(known))}")
    return keys[0], body[keys[0]]


def check_text(raw: bytes) -> None:
    """Refuse (BadRequest) what is JSON but no database or encoder takes: NUL characters, great depth."""
    if b"\\u0000" in raw and _NUL.search(raw):
        raise BadRequest("the body holds a NUL character, which no text may")
    # An exact look only where the number of brackets allows such a depth at all.
    if raw.count(b"[") + raw.count(b"{") > _DEEPEST:
        try:
            value = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadRequest(f"the body is not JSON: {error}") from None
        if _deeper(value, _DEEPEST):
            raise BadRequest(f"the body is nested too deeply: {_DEEPEST} levels are allowed")


def _deeper(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_deeper(one, levels - 1) for one in inner if isinstance(one, dict | list))
