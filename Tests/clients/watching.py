"""The watches of clients/python: no event is lost and none comes twice."""

import asyncio
import contextlib
import functools
import itertools
import random

import httpx

import process
from faulty import FaultyProxy
from expecting import ManualClock, at_once, expect, refused, settled
import latchkey
from latchkey import AsyncLatchkey, Latchkey
from latchkey._share import order_of
from latchkey._watches import QUEUE_COUNT_MAX

LAST = "line\u2028separator \x85 ü"


def take(watch, count):
    return list(itertools.islice(watch, count))


def told(event):
    return event.type, event.name, event.revision, event.value


def write(client, count):
    """Makes random changes."""
    for number in range(count):
        name = random.choice(["a/1", "a/2", "b/1", "c"])
        kind = random.randrange(4)
        if kind == 0:
            client.delete(name)
        elif kind == 1:
            client.transaction([{"put": "a/1", "value": number}, {"put": "b/2", "value": LAST},
                                {"delete": "c"}])
        else:
            client.put(name, number)


def history(service, wanted=lambda name: True):
    return [(effect["type"], effect["name"], change["revision"], effect.get("value"))
            for change in service.ask_json("/v1/changes?after=0&limit=1000")["changes"]
            for effect in change["effects"] if wanted(effect["name"])]


def watches_through_cuts(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        write(client, 80)
        expected = history(service)
        # The later connections have no limit, so that it ends however few bytes arrive.
        bounds = iter([random.randint(300, 3000) for _ in range(4)])
        with FaultyProxy(service.address, lambda: next(bounds, None)) as proxy, \
                Latchkey(proxy.url) as cut, cut.watch(after=0) as watch:
            expect([told(event) for event in take(watch, len(expected))], expected)
            expect(proxy.cut_count > 1, True)
            # From another place, and only some names.
            middle = expected[len(expected) // 2]
            rest = [row for row in expected if row[2] > middle[2] and row[1] in ("a/1", "a/2", "c")]
            with client.watch("a/", names=["c"], after=middle[2]) as some:
                expect([told(event) for event in take(some, len(rest))], rest)


def watches_with_previous_values(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client, \
            client.watch("p", previous=True, after=0) as watch:
        client.put("p", {"of": LAST})
        client.put("p", 2, ttl=0.1)
        found = [(event.type, event.previous, event.value) for event in take(watch, 3)]
        expect(found, [("put", None, {"of": LAST}), ("put", {"of": LAST}, 2), ("expire", 2, None)])


def watches_after_a_restart(binary):
    """A gap comes, and then the state, also where the connection was cut within it."""
    with process.Latchkey(binary) as service, FaultyProxy(service.address) as proxy, \
            Latchkey(proxy.url) as client:
        client.put("old", 1)
        with client.watch(initial=True) as watch:
            expect([event.type for event in take(watch, 2)], ["put", "ready"])
            with process.Latchkey(binary) as another:
                proxy.target = another.address
                with Latchkey(another.url) as direct:
                    for number in range(200):
                        direct.put(f"new/{number:03}", "x" * 50)
                    # Cut within the state, twice: bytes of the second gap's state come again.
                    bounds = iter([4000, 9000])
                    proxy.cut_after = lambda: next(bounds, None)
                    proxy.cut()
                    state = None
                    for event in watch:
                        if event.type == "gap":
                            state = set()
                        elif event.type == "put":
                            state.add(event.name)
                        elif event.type == "ready":
                            break
                    expect(state, {f"new/{number:03}" for number in range(200)})
                    expect(proxy.cut_count, 2)
                    direct.put("more", 1)
                    expect(next(watch).name, "more")


def watches_cut_within_the_first_state(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as direct:
        for number in range(200):
            direct.put(f"{number:03}", "x" * 50)
        bounds = iter([5000])
        with FaultyProxy(service.address, lambda: next(bounds, None)) as proxy, \
                Latchkey(proxy.url) as client, client.watch(initial=True) as watch:
            first = take(watch, 5)
            direct.delete("000")
            rest = []
            while not rest or rest[-1].type != "ready":
                rest.append(next(watch))
            gap = [event.type for event in rest].index("gap")
            expect([event.name for event in first][0], "000")
            expect([event.name for event in rest[gap + 1:-1]],
                   [f"{number:03}" for number in range(1, 200)])


def watches_states(binary):
    """Each state is one that the service had, however often the connection is cut."""
    with process.Latchkey(binary) as service, Latchkey(service.url) as direct:
        seen = []
        bounds = iter([1500, None, 2500, 3500])
        with FaultyProxy(service.address, lambda: next(bounds, None)) as proxy, \
                Latchkey(proxy.url) as client, client.watch("s/", initial=True) as watch:
            with at_once(lambda: seen.extend(watch.states())):
                process.await_true("it is connected", lambda: seen)
                for number in range(100):
                    direct.transaction([
                        {"put": "s/1", "value": number}, {"put": "other", "value": 1},
                        {"put": "s/2", "value": number}])
                process.await_true("the last one comes", lambda: seen[-1] == {"s/1": 99, "s/2": 99})
                watch.close()
        expect([state for state in seen[1:] if state["s/1"] != state["s/2"]], [])
        refused(ValueError, next, client.watch("s/").states())
        # The end of an iteration ends its stream.
        watch = direct.watch("s/", initial=True)
        for _ in watch.states():
            break
        expect([*watch], [])

        async def break_off():
            async with AsyncLatchkey(service.url) as one:
                watch = one.watch("s/", initial=True)
                states = watch.states()
                async for _ in states:
                    break
                await states.aclose()
                expect([event async for event in watch], [])

        asyncio.run(break_off())
        process.await_true("no stream is left", lambda: service.metrics()["latchkey_watchers"] == 0)


def watches_end(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        with client.watch(observer="me") as watch, at_once(lambda: [*watch]) as reader:
            process.await_true("it is connected", lambda: watch.last_id)
            watch.close()
        expect(reader.value, [])
        client.put("n", 1)
        first = client.watch(observer="me")
        with at_once(lambda: refused(latchkey.Replaced, next, first)):
            process.await_true("it is connected", lambda: first.last_id)
            with client.watch(observer="me", after=0) as second:
                expect(next(second).value, 1)


def watches_share_a_stream(binary):
    """Each has the events that it asked for, and knows where a commit ends; also through cuts."""
    with process.Latchkey(binary) as service, Latchkey(service.url) as direct:
        bounds = iter([None] * 6 + [3000, 5000])
        with FaultyProxy(service.address, lambda: next(bounds, None)) as proxy, \
                Latchkey(proxy.url) as client, contextlib.ExitStack() as stack:
            wishes = [(["a/"], []), (["b/"], ["c"]), ([], ["a/1"]), (["a/", "b/"], []), (["z"], [])]
            watches = [stack.enter_context(client.watch(*prefixes, names=names, initial=True))
                       for prefixes, names in wishes]
            seen = [[] for _ in watches]
            for watch, events in zip(watches, seen, strict=True):
                stack.enter_context(at_once(functools.partial(follow, watch, events)))
                # The next watch joins those that are up to date.
                process.await_true("it is level", lambda watch=watch: watch.last_id)
            process.await_true("they have one stream",
                               lambda: service.metrics()["latchkey_watchers"] == 1)
            write(direct, 150)
            proxy.cut()
            write(direct, 150)
            expected = [history(service, lambda name, prefixes=prefixes, names=names: name in names
                                or name.startswith(tuple(prefixes))) for prefixes, names in wishes]
            for watch, events, rows in zip(watches, seen, expected, strict=True):
                process.await_true("all comes", lambda events=events, rows=rows:
                                   len(events) >= len(rows))
                expect([told(event) for event in events], rows)
                ends = [row[2] != after[2] for row, after in itertools.pairwise(rows)]
                expect([event.ends_commit for event in events], [*ends, True] if rows else [])
            expect(service.metrics()["latchkey_watchers"], 1)
            for watch in watches:
                watch.close()


def follow(watch, events):
    for event in watch:
        if event.type != "ready":
            events.append(event)


def watches_that_are_slow_leave_the_share(binary):
    """The others continue; each of them gets one gap."""
    with process.Latchkey(binary) as service, FaultyProxy(service.address) as proxy, \
            Latchkey(proxy.url) as client, client.watch("a/", initial=True) as slow, \
            client.watch(initial=True) as quick:
        expect([next(slow).type, next(quick).type], ["ready", "ready"])
        process.await_true("they have one stream",
                           lambda: service.metrics()["latchkey_watchers"] == 1)
        count = 2 * QUEUE_COUNT_MAX
        for number in range(0, count, 128):
            client.transaction([{"put": f"a/{number + part:04}", "value": number + part}
                                for part in range(128)])
        expect([event.value for event in take(quick, count)], [*range(count)])
        process.await_true("they have two streams",
                           lambda: service.metrics()["latchkey_watchers"] == 2)
        expect([event.value for event in take(slow, count)], [*range(count)])
        with client.watch("a/0001", initial=True) as third, process.Latchkey(binary) as another:
            expect([next(third).type for _ in range(2)], ["put", "ready"])
            with Latchkey(another.url) as direct:
                direct.put("a/0001", "new")
                proxy.target = another.address
                proxy.cut()
                for watch in (slow, quick, third):
                    expect([(event.type, event.value) for event in take(watch, 3)],
                           [("gap", None), ("put", "new"), ("ready", None)])


def watches_that_join_within_a_commit(_):
    """A part of the commit came with the id at which the watch is up to date."""
    log = ["6.1", "6.2", "6.3", "6", "7"]
    asked = []

    async def answer(request):
        after = request.headers.get("Last-Event-ID")
        begin = ["5"] if after is None else []
        rows = begin + [each for each in log if after in (None, "5") or order_of(after) <
                        order_of(each)]
        asked.append(request.url.params.get_list("prefix"))

        async def pieces():
            for number in range(0, len(rows), 3):
                yield "".join(map(message, rows[number:number + 3])).encode()
                await settled()
            await asyncio.Event().wait()

        return httpx.Response(200, content=pieces(), headers={"Content-Type": "text/event-stream"})

    def message(id):
        if id == "5":
            return "event: ready\nid: 5\ndata: {\"revision\": 5}\n\n"
        return (f"event: put\nid: {id}\ndata: {{\"name\": \"b/{id}\", \"revision\": "
                f"{id[0]}, \"value\": 1, \"created\": 5}}\n\n")

    with Latchkey(http=lambda: httpx.AsyncClient(transport=httpx.MockTransport(answer))) as client:
        client._client._settings.clock = ManualClock()
        log, rest = [], log
        with client.watch("a/", initial=True) as first:
            expect(next(first).type, "ready")
            log = rest
            with client.watch("b/", initial=True) as second:
                expect([event.id for event in take(second, 6)], ["5", *log])
                process.await_true("they share a stream", lambda: len(asked[-1]) == 2)


CHECKS = (watches_through_cuts, watches_with_previous_values, watches_after_a_restart,
          watches_cut_within_the_first_state, watches_states, watches_end,
          watches_share_a_stream, watches_that_are_slow_leave_the_share,
          watches_that_join_within_a_commit)
