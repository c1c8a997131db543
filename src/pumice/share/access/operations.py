"""What is done asynchronously."""

from __future__ import annotations

from pumice.kernel.operations.kinds import Kind

KINDS: tuple[Kind, ...] = ()
