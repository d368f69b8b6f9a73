"""The locks and elections of clients/python."""

import socket
import threading

import process
from faulty import FaultyProxy
from expecting import ManualClock, at_once, expect, refused
from process import PATIENCE_SECONDS, await_true
import latchkey
from latchkey import Latchkey

THREADS = 8
SECTIONS = 5


def locks_exclude(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        inside, tokens = [], []

        def work():
            for _ in range(SECTIONS):
                with client.lock("lock", ttl=5) as lease:
                    inside.append(lease.token)
                    expect(inside, [lease.token])
                    tokens.append(lease.token)
                    inside.remove(lease.token)

        before = service.request_count()
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect((len(tokens), tokens), (THREADS * SECTIONS, sorted(set(tokens))))
        count = service.request_count() - before
        print(f"   {THREADS * SECTIONS} sections of {THREADS} threads: {count:.0f} requests")
        # One request to get it and one to give it back, and none that polls.
        expect(count <= 2.5 * THREADS * SECTIONS, True)


def clocked(url):
    """A client whose clock the test advances."""
    client = Latchkey(url)
    client._client._settings.clock = ManualClock()
    return client


def clock_of(client):
    return client._client._settings.clock


def locks_are_renewed(binary):
    """After a third of its time. It counts nine tenths of it, from before the request."""
    with process.Latchkey(binary) as service, clocked(service.url) as client:
        clock = clock_of(client)
        with client.lock("lock", ttl=60, value="me") as lease:
            expect(client.get("lock").value, "me")
            refused(latchkey.NotAcquired, client.acquire, "lock", wait=0)
            for number in range(1, 5):
                clock.advance(19)
                expect((service.request_count("/touch"), lease.remaining), (number - 1, 35))
                clock.advance(1)
                await_true("it is renewed", lambda: lease.remaining == 54)
                expect(service.request_count("/touch"), number)
            lease.check()
            expect(client.transaction([], when=[lease.guard]).succeeded, True)
        expect(client.find("lock"), None)


def locks_are_lost(binary):
    with process.Latchkey(binary) as service, clocked(service.url) as client:
        def lose():
            with client.lock("lock", ttl=60) as lease:
                client.delete("lock")
                expect((lease.lost.is_set(), lease.remaining), (False, 54))
                clock_of(client).advance(20)
                expect(lease.lost.wait(PATIENCE_SECONDS), True)
                refused(latchkey.LeaseLost, lease.check)

        refused(latchkey.LeaseLost, lose)
        # A lease whose loss the client has not seen yet.
        first = client.acquire("lock", ttl=5)
        client.delete("lock")
        second = client.acquire("lock", ttl=5)
        expect((first.release(), second.token > first.token), (False, True))
        expect(client.transaction([], when=[first.guard]).succeeded, False)
        expect(second.release(), True)
        # The caller sees an error inside the block, and the lock is free then.
        refused(ZeroDivisionError, divide_while_locked, client)
        expect(client.find("lock"), None)


def divide_while_locked(client):
    with client.lock("lock", ttl=5):
        return 1 / 0


def locks_end_before_others_get_them(binary):
    """A holder without a connection knows it when nine tenths of its time are over."""
    with process.Latchkey(binary) as service, FaultyProxy(service.address) as proxy, \
            clocked(proxy.url) as far, Latchkey(service.url) as near, \
            socket.socket() as nowhere:
        lease = far.acquire("lock", ttl=3)
        # Bound but not listening, so that no other program gets its port.
        nowhere.bind(("127.0.0.1", 0))
        proxy.target = nowhere.getsockname()
        proxy.cut()
        while clock_of(far).now() < 2.6:
            clock_of(far).advance(0.1)
            expect(lease.lost.is_set(), False)
        clock_of(far).advance(0.15)
        expect(lease.lost.wait(PATIENCE_SECONDS), True)
        second = near.acquire("lock", ttl=5)
        expect(second.token > lease.token, True)
        second.release()


def elections_follow_each_other(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        def lead():
            with client.election("leader", "two", ttl=5) as term:
                return term.token, client.get("leader").value

        first = client.acquire("leader", ttl=5, value={"host": "one"})
        with at_once(lead) as second:
            expect(client.get("leader").value, {"host": "one"})
            expect(first.release(), True)
        expect((second.value[0] > first.token, second.value[1]), (True, "two"))
        expect(client.find("leader"), None)


CHECKS = (locks_exclude, locks_are_renewed, locks_are_lost, locks_end_before_others_get_them,
          elections_follow_each_other)
