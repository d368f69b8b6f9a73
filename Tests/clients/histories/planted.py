"""Mistakes of a client that the judge has to find: a disguised driver makes them."""

import collections
import re

from drivers import CallError
from judge import END, Attempt, Grant, Pop, Records, Truth, Write, holders, judge
from process import Failure

# Rates at which enough answers are lost.
RATES = {"cut after it is passed on": 15, "own answer after it is passed on": 15}
DELAYS = (0.001, 0.01)
# Each mistake, and the judge's sentence for it.
FOUND = {
    "an increment without a key is repeated": r"increment that was made was made 2 times",
    "a write whose answer is lost is said to be refused": r"put that was refused was made",
    "a lock is held on to when it is lost": r"two holders at once",
    "an event is left out": r"came in place of|changes are missing|the state at .* differs",
    "the steps that end a job are left out": r"jobs/.* was lost",
    "a job that is popped is kept back": r"popped jobs were given to no caller",
}


class Mistaken:
    """A driver without keys that makes each of these mistakes, sometimes or always."""

    def __init__(self, driver):
        self.driver = driver
        self.event_count = 0
        # How often each mistake was made and is visible in the history.
        self.made = collections.Counter()

    def __getattr__(self, name):
        return getattr(self.driver, name)

    def begin(self, call, /, **arguments):
        return _Said(lambda: self.call(call, **arguments))

    def call(self, call, /, **arguments):
        if call == "finish":
            arguments["steps"] = []
            self.made["finish"] += 1
        if call == "remaining":
            return 60
        try:
            said = self.driver.call(call, **arguments)
        except CallError as error:
            if error.kind == "OutcomeUnknown" and call == "increment":
                # All clients share this counter, so its sum shows no mistake.
                self.made[call] += arguments["name"] != "shared"
                return self.call(call, **arguments)
            if error.kind == "OutcomeUnknown" and call == "put":
                self.made[call] += 1
                raise CallError(call, "Unreachable", "nothing was changed") from error
            raise
        if call == "acquire":
            self.driver.call("release", lease=said["lease"])
        if call == "pop":
            self.made[call] += said is not None
            return None
        if call == "next":
            self.event_count += 1
            if self.event_count % 20 == 0 and said["type"] == "put" and said["name"] != END:
                self.made[call] += 1
                return self.call(call, **arguments)
        return said

    def has_made_all(self, records):
        """Whether each mistake was made, and more pops than are in doubt."""
        unknown = sum(pop.fate in ("unknown", "cancelled") for pop in records.pops)
        return (min(self.made[call] for call in ("increment", "put", "finish", "next")) >= 3
                and self.made["pop"] > unknown + 3 and any(holders(records.grants)))


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


def check_by_hand():
    """Checks each sentence of the judge with a history made for it."""
    for what, sentence, records, effects in by_hand():
        changes = [{"revision": revision, "effects": [{
            "type": kind, "name": name, "value": value}]}
            for revision, (kind, name, value) in enumerate(effects, 1)]
        violations = [*judge(records, Truth(changes))]
        if len(violations) != 1 or not re.search(sentence, violations[0]):
            raise Failure(f"{what}: the judge said {violations}")


def by_hand():
    """The mistake, the sentence, the records, and the effects."""
    yield "a write is lost", "a put that was made was lost", Records(
        writes=[Write("a", "put", "ops/1", "made")]), []
    yield "a write that was refused is made", "a delete that was refused was made", Records(
        writes=[Write("a", "delete", "ops/1", "refused")]), [
            ("put", "ops/1", 1), ("delete", "ops/1", None)]
    yield "a write is made twice", "a merge that was unknown was made 2 times", Records(
        writes=[Write("a", "merge", "ops/1", "unknown")]), 2 * [("put", "ops/1", 1)]
    yield "a sum is lost", "the counter is 0: not between 1 acknowledged and 1", Records(
        writes=[Write("a", "sum", "ops/1", "made", 1)]), []
    yield "a sum comes twice", "2 increments were answered with the same sum, 2", Records(
        writes=2 * [Write("a", "sum", "ops/1", "made", 2)]), [
            ("put", "shared", 1), ("put", "shared", 2)]
    yield "a token is given twice", "a and b have the same token", Records(
        grants=[Grant("a", "l", 1, 0, 1), Grant("b", "l", 1, 2, 3)]), []
    yield "a lock has two holders", "two holders at once: a for another 0.500 s", Records(
        grants=[Grant("a", "l", 1, 0, 2), Grant("b", "l", 2, 1.5, 3)]), []
    yield "a token goes back", "the token 1 wrote after 2", Records(), [
        ("put", "fences/l", 2), ("put", "fences/l", 1)]
    yield "a job is lost", "jobs/1 was lost", Records(), [
        ("put", "jobs/1", 1), ("delete", "jobs/1", None)]
    yield "a job is done twice", "jobs/1 was done 2 times", Records(), [
        ("put", "jobs/1", 1), *2 * [("put", "done/jobs/1", 1)]]
    yield "an attempt that was refused counts", "jobs/1, which it refused, was done", Records(
        attempts=[Attempt("a", "jobs/1", "marks/1", "refused")]), [
            ("put", "jobs/1", 1), ("put", "done/jobs/1", 1), ("put", "marks/1", 1)]
    popped = [("put", "pops/1", 1), ("delete", "pops/1", None)]
    yield "a popped job is given twice", "given to 2 and removed 1 times", Records(
        pops=[*2 * [Pop("a", "made", "pops/1")], Pop("a", "unknown")]), popped
    yield "a popped job is kept back", "1 popped jobs were given to no caller", Records(
        pops=[Pop("a", "refused")]), popped
    yield "a popped job is made again", "1 popped jobs were made again", Records(
        pops=[Pop("a", "made", "pops/1")]), [*popped, *popped]
