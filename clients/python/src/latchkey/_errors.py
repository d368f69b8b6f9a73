"""The errors that this package raises; it raises no others."""

from __future__ import annotations

from collections.abc import Mapping


class LatchkeyError(Exception):
    """The base of all errors of this package."""


class Unreachable(LatchkeyError):
    """The service was not reached or did not answer in time. Nothing was changed."""


class NotLatchkey(LatchkeyError):
    """Something else answered in place of the service, such as a sign-in page."""


class OutcomeUnknown(LatchkeyError):
    """The write may have been made, or may still be made: its answer was lost."""


class InvalidValue(LatchkeyError, ValueError):
    """A value, a name or a token that cannot be sent, such as NaN. Nothing was sent."""


class LeaseLost(LatchkeyError):
    """A lock, an election or a claim was lost during the work."""


class NotAcquired(LatchkeyError):
    """The lock was held by others the whole time."""


class Replaced(LatchkeyError):
    """Another watch has the same `observer`. Do not watch again."""


class Cancelled(LatchkeyError):
    """A `Cancel` has ended the call. The call gives back what it got."""


class Closed(LatchkeyError):
    """The client is closed, or belongs to another process."""


class Problem(LatchkeyError):
    """The service refused the request: nothing was changed.

    `type` is the name of the problem, such as "precondition-failed": decide by it, or by the
    subclass. `detail` is for people. `leader`: for "not-leader", the address that takes changes.
    """

    def __init__(
        self, status: int, type: str, detail: str = "", retry_after: float = 0,
        leader: str | None = None,
    ) -> None:
        super().__init__(status, type, detail, retry_after, leader)
        self.status = status
        self.type = type
        self.detail = detail
        self.retry_after = retry_after
        self.leader = leader

    def __str__(self) -> str:
        leader = f" (the leader: {self.leader})" if self.leader else ""
        return f"{self.status} {self.type}: {self.detail}{leader}"


class NotFound(Problem):
    """There is no property with this name."""


class PreconditionFailed(Problem):
    """The property has another revision, or exists although `if_absent` was asked for."""


class NotAnInteger(Problem):
    """The value cannot be incremented, or the sum has more than 64 bits."""


class Gone(Problem):
    """The history does not hold this revision."""


class Unauthorized(Problem):
    """There is no valid token."""


class Forbidden(Problem):
    """The token does not allow this."""


class Full(Problem):
    """The store, a quota or the disk is full."""


class Busy(Problem):
    """The service refuses for now: a rate, a share or a limit, or it starts or stops."""


_PROBLEMS: Mapping[str, type[Problem]] = {
    "not-found": NotFound, "precondition-failed": PreconditionFailed,
    "not-an-integer": NotAnInteger, "overflow": NotAnInteger, "gone": Gone,
    "unauthorized": Unauthorized, "forbidden": Forbidden, "store-full": Full,
    "quota-exceeded": Full, "disk-full": Full,
}


def kind_of_problem(status: int, type: str) -> type[Problem]:
    """The class for a problem of the service."""
    return Busy if status in (429, 503) else _PROBLEMS.get(type, Problem)
