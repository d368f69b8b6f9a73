"""Leases, work and cancelled calls of the Python package, with a service that is a function."""

import asyncio
import contextlib
import inspect

import httpx

from expecting import ManualClock, VirtualClock, at_once, expect, refused, settled
from process import PATIENCE_SECONDS, await_true
import latchkey
from latchkey import AsyncLatchkey, Cancel
from latchkey._portal import _Call
from python_units import HANG, PAGE, PUT, Service, ok, problem

GRANTED = {"succeeded": True, "revision": 7, "results": [{"revision": 7, "name": "lock"}]}
JOB = {"succeeded": True, "revision": 7, "results": [
    {"name": "jobs/1", "revision": 3, "created": 3, "value": 1}]}
REFUSED = {"succeeded": False, "revision": 7, "results": []}


def leases(_):
    """A grant that had to wait is renewed, and given back if the renewal is refused."""
    clock = ManualClock()

    def granted_late(request):
        clock.time += 60
        return ok(GRANTED)

    touched = ok(status=204)
    service = Service(granted_late, touched, ok(status=204))
    with service.client(clock=clock) as client:
        lease = client.acquire("lock", ttl=30)
        expect((lease.remaining, lease.token), (27, 7))
        expect([each.url.path.split("/")[-1] for each in service.seen], ["transactions", "touch"])
        expect(service.seen[1].headers["If-Match"], '"7"')
        expect((lease.release(), lease.release(), lease.lost.is_set()), (True, True, False))
    for refusal in (problem(412, "precondition-failed"), PAGE, ok(status=204, tag=8)):
        service = Service(granted_late, refusal, ok(REFUSED), ok(status=204))
        with service.client(clock=clock) as client:
            refused(latchkey.NotAcquired, client.acquire, "lock", ttl=30, wait=60)
            await_true("it is given back", lambda service=service: [
                each.headers["If-Match"] for each in service.seen if each.method == "DELETE"])


def grants_end_with_their_wait(_):
    """The call also limits the renewal of a grant that waited."""
    clock = VirtualClock()

    def after(seconds, answer):
        def late(_):
            clock.time += seconds
            return answer
        return late

    def acquire(client, wait):
        return client.acquire("lock", ttl=30, wait=wait)

    def claim(client, wait):
        return client.claim("jobs/", claims="c/", ttl=30, wait=wait)

    for call, granted in ((acquire, GRANTED), (claim, JOB)):
        service = Service(after(10, ok(granted)), HANG, ok(status=204))
        with service.client(clock=clock) as client:
            begin = clock.time
            with contextlib.suppress(latchkey.NotAcquired):
                expect(call(client, 9.1), None)
            expect(clock.time - begin <= 11.2, True)
        # A call that did not ask to wait has the usual patience.
        service = Service(after(9.5, ok(granted)), ok(status=204))
        with service.client(clock=clock) as client:
            expect(call(client, 0).token, 7)


def renewals(_):
    """At each third of the time; after a failure ten times a second."""
    clock, times = VirtualClock(), []

    def touched(_):
        times.append(round(clock.time, 3))
        return ok(status=204) if len(times) in (1, 4) else PAGE

    with Service(ok(GRANTED), touched).client(clock=clock) as client:
        client.acquire("lock", ttl=3).lost.wait(PATIENCE_SECONDS)
    expect(times[:7], [1, 2, 2.1, 2.2, 3.2, 3.3, 3.4])


def leases_are_lost(_):
    """By the clock, and at once when the client is closed or its thread has ended."""
    def hold(*script):
        service = Service(ok(GRANTED), *script)
        client = service.client(clock=ManualClock())
        return client, client.acquire("lock", ttl=30), client._client._settings.clock

    for script in ([HANG], [PAGE], [ok(status=204, tag=8)], [httpx.Response(502)]):
        client, lease, clock = hold(*script)
        for _ in range(26):
            clock.advance(1)
            expect(lease.lost.is_set(), False)
        clock.advance(1)
        expect((lease.lost.wait(PATIENCE_SECONDS), lease.remaining), (True, 0))
        client.close()
    client, lease, _ = hold(HANG)
    with at_once(lambda: lease.lost.wait(PATIENCE_SECONDS)) as waiting:
        client.close()
    expect((waiting.value, lease.release()), (True, False))
    client, lease, _ = hold(HANG)
    client._portal.post(lambda: exec("raise SystemExit"))
    expect(lease.lost.wait(PATIENCE_SECONDS), True)
    refused(latchkey.Closed, client.get, "a")
    # Also where the timer cannot run: the clock alone decides.
    client, lease, clock = hold(HANG)
    clock.time += 28
    expect(lease.lost.is_set(), True)
    client.close()


def cancelled(_):
    """A cancelled call gives back all that it got or may have got."""
    def is_given_back(service):
        await_true("it is deleted", lambda: "DELETE" in [each.method for each in service.seen])
        first, second, last = service.seen[:3]
        expect((second.content, second.headers["Idempotency-Key"], second.url.query),
               (first.content, first.headers["Idempotency-Key"], b""))
        expect(last.headers["If-Match"], '"7"')

    calls = ((lambda c: c.acquire("lock", ttl=5), GRANTED),
             (lambda c: c.claim("jobs/", claims="claims/", wait=None), JOB))
    for call, got in calls:
        service, cancel = Service(HANG, ok(got), ok(status=204)), Cancel()
        with service.client(clock=ManualClock()) as client:
            def begin(call=call, client=client, cancel=cancel):
                with cancel:
                    refused(latchkey.Cancelled, call, client)
                    # Later calls under the same `cancel` end as well.
                    refused(latchkey.Cancelled, client.get, "a")

            with at_once(begin):
                await_true("it waits", lambda service=service: service.seen)
                # As after a call that got no room for its key.
                client._client._current.keyless_until = 9
                cancel.cancel()
            is_given_back(service)
        # Closing the client ends its waits.
        service = Service(HANG, ok(got), ok(status=204))
        client = service.client(clock=ManualClock())
        with at_once(lambda call=call, client=client: refused(latchkey.Closed, call, client)):
            await_true("it waits", lambda service=service: service.seen)
            client.close()
        is_given_back(service)
        asyncio.run(cancelled_task(call, got, is_given_back))
    service, cancel = Service(HANG, ok(JOB), PUT), Cancel()
    with service.client(clock=ManualClock()) as client:
        def pop():
            with cancel:
                refused(latchkey.Cancelled, client.pop, "jobs/", wait=None)

        with at_once(pop):
            await_true("it waits", lambda: service.seen)
            cancel.cancel()
        await_true("the job is put again", lambda: service.seen[-1].method == "PUT")
        expect((service.seen[-1].headers["If-None-Match"], service.seen[-1].url.path),
               ("*", "/v1/properties/jobs/1"))


def results_that_come_too_late(_):
    """A call returns although it is cancelled: its result is undone."""
    begun, undone, cancel = [], [], Cancel()

    async def stubborn():
        begun.append(True)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "result"

    with Service(PUT).client() as client:
        def call():
            with cancel:
                refused(latchkey.Cancelled, client._portal.call, stubborn(), undone.append)

        with at_once(call):
            await_true("it runs", lambda: begun)
            cancel.cancel()
        await_true("it is undone", lambda: undone == ["result"])


def calls_that_do_not_begin(_):
    """Their coroutines are closed: Python would warn otherwise."""
    async def nothing():
        pass

    async def cancel():
        coroutine = nothing()
        call = _Call(coroutine, lambda result: None)
        call.start()
        call.task.cancel()
        await settled()
        expect(inspect.getcoroutinestate(coroutine), inspect.CORO_CLOSED)

    asyncio.run(cancel())


def what_ends_while_a_client_is_closed(_):
    """Giving back may be done before the client waits for it."""
    async def close():
        async with Service(PUT).client(AsyncLatchkey) as client:
            await client.put("a", 1)
            client._current.last(lambda: asyncio.sleep(0))
            while not (last := [*client._current._last])[0].done():
                await asyncio.sleep(0)
            expect(len(last), 1)

    asyncio.run(close())


async def cancelled_task(call, got, is_given_back):
    service = Service(HANG, ok(got), ok(status=204))
    async with service.client(AsyncLatchkey, ManualClock()) as client:
        task = asyncio.create_task(call(client))
        while not service.seen:
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    is_given_back(service)


def work_that_raises(_):
    """Each kind of handler gives its claim back."""
    job = ok(JOB)

    def generator(claim):
        yield {"increment": "n"}
        raise ZeroDivisionError

    async def coroutine(claim):
        raise ZeroDivisionError

    async def async_generator(claim):
        yield {"increment": "n"}
        raise ZeroDivisionError

    async def run(service, handle):
        async with service.client(AsyncLatchkey, ManualClock()) as client:
            await client.work("jobs/", handle, claims="claims/")

    service = Service(job, ok(status=204))
    with service.client(clock=ManualClock()) as client:
        refused(ZeroDivisionError, client.work, "jobs/", generator, claims="claims/")
        expect(service.seen[-1].method, "DELETE")
    for handle in (generator, coroutine, async_generator, lambda claim: 1 / 0):
        service = Service(job, ok(status=204))
        refused(ZeroDivisionError, asyncio.run, run(service, handle))
        expect(service.seen[-1].method, "DELETE")


CHECKS = (leases, grants_end_with_their_wait, renewals, leases_are_lost,
          cancelled, results_that_come_too_late, calls_that_do_not_begin,
          what_ends_while_a_client_is_closed, work_that_raises)
