"""The locks and elections of clients/python/latchkey.py."""

import socket
import threading
import time

import process
from cutting import CuttingProxy
from expecting import at_once, expect, refused
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

        before = requests(service)
        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect((len(tokens), tokens), (THREADS * SECTIONS, sorted(set(tokens))))
        count = requests(service) - before
        print(f"   {THREADS * SECTIONS} sections of {THREADS} threads: {count:.0f} requests")
        # One to get it and one to give it back, and none to ask again.
        expect(count <= 2.5 * THREADS * SECTIONS, True)


def requests(service):
    return sum(value for name, value in service.metrics().items()
               if name.startswith("latchkey_http_requests_total") and "/metrics" not in name)


def locks_are_renewed(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        with client.lock("lock", ttl=2, value="me") as lease:
            expect(client.get("lock").value, "me")
            refused(latchkey.NotAcquired, client.acquire, "lock", wait=3)
            expect((lease.lost.is_set(), lease.remaining > 0), (False, True))
            lease.check()
            expect(client.transaction([], when=[lease.guard]).succeeded, True)
        expect(client.find("lock"), None)


def locks_are_lost(binary):
    with process.Latchkey(binary) as service, Latchkey(service.url) as client:
        def lose():
            with client.lock("lock", ttl=0.6) as lease:
                client.delete("lock")
                expect(lease.lost.wait(5), True)
                refused(latchkey.LeaseLost, lease.check)

        refused(latchkey.LeaseLost, lose)
        # One that is not yet seen to be lost.
        first = client.acquire("lock", ttl=5)
        client.delete("lock")
        second = client.acquire("lock", ttl=5)
        expect((first.release(), second.token > first.token), (False, True))
        expect(client.transaction([], when=[first.guard]).succeeded, False)
        expect(second.release(), True)
        # An error inside the block is the one that is seen, and the lock is free then.
        refused(ZeroDivisionError, divide_while_locked, client)
        expect(client.find("lock"), None)


def divide_while_locked(client):
    with client.lock("lock", ttl=5):
        return 1 / 0


def locks_end_before_others_get_them(binary):
    """A holder that is cut off knows in time."""
    with process.Latchkey(binary) as service, CuttingProxy(service.address) as proxy, \
            Latchkey(proxy.url) as far, Latchkey(service.url) as near:
        lease = far.acquire("lock", ttl=3)
        with at_once(lambda: (near.acquire("lock", ttl=5), time.monotonic())) as other, \
                socket.create_server(("127.0.0.1", 0)) as silent:
            # Connections are accepted, and no answer comes.
            proxy.target = silent.getsockname()
            proxy.cut()
            expect(lease.lost.wait(10), True)
            lost = time.monotonic()
        second, got = other.value
        expect((lost < got, second.token > lease.token), (True, True))
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
