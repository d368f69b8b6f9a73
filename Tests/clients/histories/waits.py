"""Locks that others hold for longer than the time to live that the waiting client asks for."""

import collections
import concurrent.futures
import json

import drivers
from faulty import Fault, FaultyProxy
from judge import changes
from process import PATIENCE_SECONDS, Failure, Latchkey

RUNS = 200
# Renewals come after a third of it: this is enough also on a slow machine.
TTL_SECONDS, DELAY_SECONDS = 6, 0.005
# The locks become free one after the other.
HELD_SECONDS_MIN, HELD_SECONDS_MORE = 6.5, 0.06


def try_waits(arguments, log):
    """With a delay each way, each client gets its lock, and keeps the first grant."""
    clients = arguments.client
    with Latchkey(arguments.binary, log=log) as service, FaultyProxy(
            service.address, plan=lambda: Fault(there=DELAY_SECONDS, back=DELAY_SECONDS)) as proxy:
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = [pool.submit(try_client, arguments, log, service, proxy, client,
                                range(index, RUNS, len(clients)))
                    for index, client in enumerate(clients)]
        for each in runs:
            each.result()
        grants = collections.Counter(
            effect["name"] for change in changes(service) for effect in change["effects"]
            if effect["type"] == "put" and effect["value"] != "another")
    print(f"   {RUNS} runs of {', '.join(clients)}: {grants.total()} grants")
    for index, client in enumerate(clients):
        runs = range(index, RUNS, len(clients))
        # On a busy machine, a client can be too late to renew one grant.
        if not any(grants[str(number)] == 1 for number in runs):
            raise Failure(f"{client} gives each first grant back")


def try_client(arguments, log, service, proxy, client, runs):
    driver = drivers.Driver.start(client, drivers.COMMANDS[client], log, arguments.binary)
    try:
        driver.call("open", urls=[proxy.url])
        wait(service, driver, runs)
    finally:
        driver.end()


def wait(service, driver, numbers):
    """Waits for all locks at the same time."""
    begun = {}
    for index, number in enumerate(numbers):
        held = HELD_SECONDS_MIN + index * HELD_SECONDS_MORE
        service.ask("PUT", f"/v1/properties/{number}?ttl={held:.3f}", json.dumps("another"))
        begun[number] = driver.begin("acquire", name=str(number), ttl=TTL_SECONDS,
                                     wait=PATIENCE_SECONDS / 2)
    for number, call in begun.items():
        try:
            lease = call.result()
        except drivers.CallError as error:
            raise Failure(f"{driver.name}: run {number}: {error}") from None
        driver.call("release", lease=lease["lease"])
