"""Results of cancelled calls are given back: all of them, if nothing else fails."""

import json
import random

from drivers import COMMANDS, CallError, Driver
from judge import changes
from process import PATIENCE_SECONDS, Failure, Latchkey, await_true

JOB_COUNT = 30


def try_cancelled(arguments, log):
    """Each job that was popped is given to a caller, or comes back."""
    with Latchkey(arguments.binary, log=log) as service:
        for client in arguments.client:
            driver = Driver.start(client, COMMANDS[client], log, arguments.binary)
            try:
                driver.call("open", urls=[service.url], timeout=PATIENCE_SECONDS)
                try_client(service, driver, random.Random(f"{client} {arguments.seed}"))
            finally:
                driver.end()


def try_client(service, driver, draw):
    client = driver.client
    given = cancel_each(service, driver, f"{client}/", draw)
    await_true(lambda: f"{JOB_COUNT} jobs of {client}, {len(given)} given to callers",
               lambda: len(given) + count(service, client) == JOB_COUNT)
    if len(given) != len(set(given)):
        raise Failure(f"{client} gave a job twice: {sorted(given)}")
    print(f"   {client}: of {JOB_COUNT} jobs, {len(given)} were given to a caller, "
          f"{removals(service, client) - len(given)} came back")


def count(service, client):
    return service.ask_json(f"/v1/count?prefix={client}/")["count"]


def removals(service, client):
    return sum(effect["type"] == "delete" and effect["name"].startswith(f"{client}/")
               for change in changes(service) for effect in change["effects"])


def cancel_each(service, driver, prefix, draw):
    """Cancels waiting pops while jobs arrive. Returns the jobs that callers got."""
    pops = [driver.begin("pop", prefix=prefix, wait=60) for _ in range(JOB_COUNT)]
    # By then, most of the pops wait at the service.
    driver.call("count", prefix=prefix)
    given = []
    for number, pop in enumerate(pops):
        moves = [pop.cancel, lambda number=number: service.ask(
            "PUT", f"/v1/properties/{prefix.replace('/', '%2F')}{number}", json.dumps(number))]
        draw.shuffle(moves)
        for move in moves:
            move()
    for pop in pops:
        try:
            found = pop.result()
        except CallError as error:
            if error.kind != "Cancelled":
                raise Failure(f"{driver.name}: {error}") from None
        else:
            given += [found["name"]] if found else []
    return given
