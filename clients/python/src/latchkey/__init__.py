"""A client for Latchkey, for threads and for asyncio.

    from latchkey import Latchkey

    with Latchkey("http://127.0.0.1:8080") as client:
        client.put("greeting", {"text": "hello"})
        print(client.get("greeting").value)

`AsyncLatchkey` has the same calls: `await client.get("greeting")`, `async with client.lock("a")`,
`async for event in client.watch("a")`.

Requests are repeated where that is safe (see `clients/behaviour.md`). Writes have an
`Idempotency-Key`, so the service makes each once. Use `keys=False` if the service ignores keys
(`--idempotency-seconds 0`).
"""

from ._async_client import AsyncLatchkey
from ._client import Claim, Latchkey, Lease, Watch
from ._errors import (
    Busy, Cancelled, Closed, Forbidden, Full, Gone, InvalidValue, LatchkeyError, LeaseLost,
    NotAcquired, NotAnInteger, NotFound, NotLatchkey, OutcomeUnknown, PreconditionFailed, Problem,
    Replaced, Unauthorized, Unreachable,
)
from ._json import Json
from ._leases import AsyncClaim, AsyncLease
from ._portal import Cancel
from ._types import Condition, Event, Outcome, Property, Result, Step
from ._watches import AsyncWatch

__all__ = [
    "AsyncClaim", "AsyncLatchkey", "AsyncLease", "AsyncWatch", "Busy", "Cancel", "Cancelled",
    "Claim", "Closed", "Condition", "Event", "Forbidden", "Full", "Gone", "InvalidValue", "Json",
    "Latchkey", "LatchkeyError", "Lease", "LeaseLost", "NotAcquired", "NotAnInteger", "NotFound",
    "NotLatchkey", "Outcome", "OutcomeUnknown", "PreconditionFailed", "Problem", "Property",
    "Replaced", "Result", "Step", "Unauthorized", "Unreachable", "Watch",
]

