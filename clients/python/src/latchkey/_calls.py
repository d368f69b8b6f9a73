"""Answers and handlers of the client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence

from ._json import Json
from ._leases import AsyncClaim
from ._requests import Answer, Request, ask
from ._session import Session
from ._types import Property, Step, conditions, path_of, property_of

Steps = Iterable[Step] | None
AsyncHandler = Callable[[AsyncClaim], Steps | Awaitable[Steps] | AsyncIterator[Step]]


async def put_again(session: Session, popped: Property) -> None:
    """Puts a job back that was popped for a call that is over."""
    await ask(session, Request(
        "PUT", path_of(popped.name), {"ttl": popped.ttl}, body=popped.value,
        headers=conditions(None, if_absent=True), statuses=(201, 204)), Answer.revision,
        limit=session.settings.timeout, is_last=True)


async def steps_of(handle: AsyncHandler, claim: AsyncClaim) -> list[Step]:
    """The steps of a handler of any kind. A generator runs here."""
    returned = handle(claim)
    if isinstance(returned, AsyncIterator):
        return [step async for step in returned]
    if isinstance(returned, Awaitable):
        returned = await returned
    return [*(returned or ())]


def property_in(name: str) -> Callable[[Answer], Property]:
    def read(answer: Answer) -> Property:
        ttl = answer.headers.get("Latchkey-TTL")
        return Property(name, answer.revision(), int(answer.headers["Latchkey-Created"]),
                        answer.json(), None if ttl is None else float(ttl))

    return read


def property_or_none_in(name: str) -> Callable[[Answer], Property | None]:
    def read(answer: Answer) -> Property | None:
        if answer.status == 304:
            answer.revision()
            return None
        return property_in(name)(answer)

    return read


def read_tagged(answer: Answer) -> Json:
    answer.revision()
    return answer.json()


def read_page(answer: Answer) -> tuple[Sequence[Property], str | None]:
    body = answer.json()
    return [property_of(row) for row in body["properties"]], body.get("next")
