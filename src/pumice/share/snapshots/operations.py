"""What is done to snapshots asynchronously."""

from __future__ import annotations

from pumice.kernel.operations.kinds import Kind

KINDS: tuple[Kind, ...] = ()
