"""Moves of attachments, and those of volumes that attaching consists of (sections 7 and 9 of the API)."""

from __future__ import annotations

from pumice.kernel.errors import Conflict
from pumice.kernel.moves import End, Move

CONNECT = Move(
    name="update",
    start=frozenset(("reserved", "attaching", "attached", "error_attaching")),
    via="attaching",
    done="attaching",
    failed="error_attaching",
    refusal=Conflict,
)
DISCONNECT = Move(name="delete", start=None, via=None, done=End.GONE, failed="error_detaching")
CLEAN_UP = Move(name="clean up", start=None, via="error_attaching", done="error_attaching", failed="error_attaching")
"""Removes what a connect that was given up may have made."""

RESERVE = Move(
    name="reserve", start=frozenset(("available", "in-use")), via=None, done="attaching", failed=End.PREVIOUS
)
BEGIN_DETACHING = Move(
    name="begin detaching", start=frozenset(("in-use",)), via=None, done="detaching", failed=End.PREVIOUS
)
