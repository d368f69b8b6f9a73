"""Locks that others hold for longer than the time to live which the waiting client asks for."""

import json

import drivers
from faulty import Fault, FaultyProxy
from process import PATIENCE_SECONDS, Failure, Latchkey

RUNS, AT_ONCE = 200, 20
TTL_SECONDS, HELD_SECONDS, DELAY_SECONDS = 0.3, 0.5, 0.005


def try_waits(arguments, log):
    """With a delay each way, each of them gets the lock."""
    clients = [each for each in arguments.client if each != "command-line"]
    with Latchkey(arguments.binary, log=log) as service, FaultyProxy(
            service.address, plan=lambda: Fault(there=DELAY_SECONDS, back=DELAY_SECONDS)) as proxy:
        for index, client in enumerate(clients):
            driver = drivers.Driver.start(client, drivers.COMMANDS[client], log)
            try:
                driver.call("open", urls=[proxy.url])
                runs = range(index, RUNS, len(clients))
                for start in range(0, len(runs), AT_ONCE):
                    wait(service, driver, runs[start:start + AT_ONCE])
            finally:
                driver.end()
        grants = sum(effect["type"] == "put" and effect["value"] is None
                     for change in service.ask_json("/v1/changes?after=0&limit=1000")["changes"]
                     for effect in change["effects"])
    print(f"   {RUNS} runs of {', '.join(clients)}: {grants} grants")


def wait(service, driver, numbers):
    """Several at once."""
    begun = {}
    for number in numbers:
        service.ask("PUT", f"/v1/properties/{number}?ttl={HELD_SECONDS}", json.dumps("another"))
        begun[number] = driver.begin("acquire", name=str(number), ttl=TTL_SECONDS,
                                     wait=PATIENCE_SECONDS / 2)
    for number, call in begun.items():
        try:
            lease = call.result()
        except drivers.CallError as error:
            raise Failure(f"{driver.name}: run {number}: {error}") from None
        driver.call("release", lease=lease["lease"])
