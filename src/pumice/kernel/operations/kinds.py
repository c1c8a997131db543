"""What an operation does: its kind, its steps, and how a step ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy.orm import Session

from pumice.kernel.messages import Cause, Code
from pumice.kernel.moves import End, Move
from pumice.kernel.operations.model import Lane, Operation

if TYPE_CHECKING:
    from pumice.kernel.operations.worker import Run

Change = Callable[[Session], None]


def no_change(_tx: Session) -> None:
    """The `also` of an outcome that changes nothing but the operation and its resource."""


@dataclass(frozen=True, slots=True)
class Done:
    """The operation has succeeded: the move ends well and `values` go to the resource.

    `also` runs in the finishing transaction; `status` overrides where the move ends.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    also: Change = no_change
    status: str | End | None = None


@dataclass(frozen=True, slots=True)
class Next:
    """Go on with another step, perhaps in another queue; `checkpoint` is merged into the operation's."""

    step: str
    queue: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    also: Change = no_change
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """Rest until `signal` arrives (its payload is merged into the checkpoint) or `timeout` seconds are over.

    Then `step` runs; whether the signal came is `signal in run.checkpoint`. One that may come before this is written
    was announced by `Run.expect`.
    """

    signal: str
    step: str
    timeout: float


class Failure(Exception):
    """Raised by a step: the operation has failed.

    :param text: for the operator's log and the operation's `error`; no secret in it
    :param detail: the code of the user's message
    :param status: where the move ends instead of `move.failed`
    :param action: what was being done, where that is not the kind's `action`
    """

    def __init__(
        self,
        text: str,
        *,
        detail: Code = Cause.UNKNOWN,
        status: str | End | None = None,
        action: Code | None = None,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.detail = detail
        self.status = status
        self.action = action


Outcome = Done | Next | Wait


class Step(Protocol):
    """One step. Everything it raises but `Failure` is a failure of unknown cause, with a traceback in the log.

    It may be run again from its start, by another worker, at any moment: it looks up what an earlier run has
    made under the operation's or the resource's id before it makes it.
    """

    def __call__(self, run: Run, /) -> Outcome: ...


class Undo(Protocol):
    """What a failure undoes besides the status: charges, claims, rows. Runs in the failing transaction.

    Also run when a reset or a forced delete takes the resource away from the operation.
    """

    def __call__(self, tx: Session, operation: Operation, /) -> None: ...


def of_resource(operation: Operation) -> tuple[str, str]:
    return operation.resource_type, operation.resource_id


def nothing(_tx: Session, _operation: Operation) -> None:
    """Of a kind whose failure leaves nothing to undo, or from whose end nothing follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """:param name: "volume.extend"
    :param model: class of the resource's rows; None when the operation owns no row
    :param move: the move that the operation ends; None together with `model`
    :param steps: by name; an operation begins with the one it was submitted with ("run")
    :param undo: what a failure undoes
    :param after: called when the move has ended, well or not, in the same transaction: what follows from the
        resource's status (a share's from that of its instances)
    :param abandon: called by a worker that lost the operation in the middle of a step: what only it can tidy up
    :param action: for the user's message about a failure
    :param subject: type and id of the resource that such a message is about
    :param event: notifications are `<event>.start` and `<event>.end`, with the payload of `describe`
    :param seconds: from acceptance to the moment when it counts as failed; None: what the journal has for all
    :param takeovers: how often a dead worker's run is taken over before the operation counts as failed
    """

    name: str
    resource_type: str
    model: type[Any] | None = None
    move: Move | None = None
    steps: Mapping[str, Step]
    undo: Undo = nothing
    after: Undo = nothing
    abandon: Callable[[Run], None] | None = None
    action: Code | None = None
    subject: Callable[[Operation], tuple[str, str]] = of_resource
    event: str = ""
    describe: Callable[[Session, Any], dict[str, Any]] | None = None
    lane: Lane = Lane.WORK
    seconds: float | None = None
    takeovers: int = 5
