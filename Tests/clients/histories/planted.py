"""Mistakes of a client that the judge has to find: a driver in a disguise makes them."""

import re

from drivers import CallError
from judge import END
from process import Failure

SECONDS = 5
# Enough answers are lost.
RATES = {"cut after it is passed on": 15, "own answer after it is passed on": 15}
DELAYS = (0.001, 0.01)
# Each has a sentence of the judge.
FOUND = {
    "an increment without a key is repeated": r"increment that was made was made 2 times",
    "a write whose answer is lost is said to be refused": r"put that was refused was made",
    "a lock is held on to when it is lost": r"two holders at once",
    "an event is left out": r"came in place of|changes are missing|the state at .* differs",
    "the steps that end a job are left out": r"jobs/.* was lost",
    "a job that is popped is kept back": r"popped jobs were given to no caller",
}


class Mistaken:
    """A driver without keys that makes each of these mistakes, now and then or always."""

    def __init__(self, driver):
        self.driver = driver
        self.event_count = 0

    def __getattr__(self, name):
        return getattr(self.driver, name)

    def begin(self, call, /, **arguments):
        return _Said(lambda: self.call(call, **arguments))

    def call(self, call, /, **arguments):
        if call == "finish":
            arguments["steps"] = []
        if call == "remaining":
            return 60
        try:
            said = self.driver.call(call, **arguments)
        except CallError as error:
            if error.kind == "OutcomeUnknown" and call == "increment":
                return self.call(call, **arguments)
            if error.kind == "OutcomeUnknown" and call == "put":
                raise CallError(call, "Unreachable", "nothing was changed") from error
            raise
        if call == "acquire":
            self.driver.call("release", lease=said["lease"])
        if call == "pop":
            return None
        if call == "next":
            self.event_count += 1
            if self.event_count % 20 == 0 and said["name"] != END:
                return self.call(call, **arguments)
        return said


class _Said:
    def __init__(self, result):
        self.result = result

    def cancel(self):
        pass


def check(violations):
    for mistake, sentence in FOUND.items():
        if not any(re.search(sentence, violation) for violation in violations):
            raise Failure(f"the judge did not find that {mistake}; only: {violations[:20]}")
    print(f"   {len(FOUND)} mistakes: {len(violations)} violations")
