"""The history that a service has after a restart, and whether it fits the clients' answers.

Design: the revisions are the order of the writes, so linearizability needs no search. Each commit
must be one request of a client, complete, on top of the state before it; a request has at most one
commit; an acknowledged request has its commit with the revision of the answer; a refused one has
none; and requests that did not overlap have revisions in their order.
"""

import bisect
import json
import collections
import re

from load import MADE, READ, REFUSED, UNKNOWN
from process import Failure

TOKEN = re.compile(r"T(\d+):")

Effect = collections.namedtuple("Effect", "type name value reason created former")


class History:
    """All commits of a folder, over any number of lives."""

    def __init__(self, revision):
        """`revision` is that of the new, empty store."""
        self.revision, self.first, self.state = revision, revision, {}
        self.commits, self.tokens = {}, {}
        # For each name the revisions that changed it, and the values, None after a removal.
        self.names = collections.defaultdict(lambda: ([], []))
        self.outcomes, self.checked, self.shown = {}, [], 0
        # For each name the number of DELETE that were made, and of those that may have been; and
        # the revisions of commits that do nothing else.
        self.deletions = collections.defaultdict(lambda: [0, 0])
        self.removals = collections.defaultdict(list)

    def extend(self, changes, revision):
        """Takes further commits. They must follow the known ones without a gap."""
        for change in changes:
            if change["revision"] != self.revision + 1:
                raise Failure(f"a gap: revision {change['revision']} follows {self.revision}")
            self._apply(change)
        if revision != self.revision:
            raise Failure(f"the store is at {revision}, its history ends at {self.revision}")

    def _apply(self, change):
        self.revision = revision = change["revision"]
        effects = []
        for each in change["effects"]:
            former = self.state.get(each["name"])
            effect = Effect(each["type"], each["name"], each.get("value"), each.get("reason"),
                            each.get("created"), former)
            effects.append(effect)
            revisions, values = self.names[effect.name]
            revisions.append(revision)
            values.append((effect.value, revision, effect.created)
                          if effect.type == "put" else None)
            if effect.type != "put":
                if self.state.pop(effect.name, None) is None:
                    raise Failure(f"revision {revision} removes {effect.name}, which is not there")
                continue
            self.state[effect.name] = (effect.value, revision, effect.created)
            if effect.created not in (revision, former[2] if former else revision):
                raise Failure(f"revision {revision}: {effect.name} was created at {effect.created}")
            token = token_of(effect)
            if self.tokens.setdefault(token, revision) != revision:
                raise Failure(f"request {token} was made twice: {self.tokens[token]}, {revision}")
            if token in self.outcomes and self.outcomes[token].fate == REFUSED:
                raise Failure(f"was refused, and is there at {revision}: {self.outcomes[token]}")
        self.commits[revision] = effects
        if len(effects) == 1 and effects[0].reason == "deleted":
            self.removals[effects[0].name].append(revision)

    def compare(self, state, what):
        """Compares a state with that of the last commit."""
        compare(state, self.state, f"{what} at {self.revision}")

    def state_at(self, revision):
        """The state after an earlier commit."""
        found = {}
        for name, (revisions, values) in self.names.items():
            place = bisect.bisect_right(revisions, revision)
            if place and values[place - 1] is not None:
                found[name] = values[place - 1]
        return found

    def check(self, outcomes):
        """Checks the commits against the clients' answers. Each outcome is given once."""
        for outcome in outcomes:
            if outcome.kind != "get":
                self.outcomes[outcome.token] = outcome
        for token, revision in self.tokens.items():
            if token not in self.outcomes:
                raise Failure(f"revision {revision} comes from no request ({token})")
        self.checked += outcomes
        for outcome in outcomes:
            self._check_one(outcome)
        self._check_order()
        self._check_deletions()

    def _check_one(self, outcome):
        revision = self.tokens.get(outcome.token)
        if outcome.fate == REFUSED and revision is not None:
            raise Failure(f"was refused, and is there at {revision}: {outcome}")
        if outcome.fate == MADE and outcome.kind != "delete" and outcome.revision:
            if outcome.revision > self.revision:
                raise Failure(f"acknowledged, and lost (the end is {self.revision}): {outcome}")
        if outcome.kind == "get" or (outcome.fate != MADE and revision is None):
            return
        if outcome.fate == MADE and outcome.revision and revision != outcome.revision and \
                any(value is not None for value in outcome.puts.values()):
            raise Failure(f"acknowledged, but the history has it at {revision}: {outcome}")
        revision = outcome.revision or revision
        if revision:
            self._check_effects(outcome, revision)

    def _check_effects(self, outcome, revision):
        effects = self.commits[revision]
        puts = {each.name: each for each in effects if each.type == "put"}
        removed = {each.name for each in effects if each.type != "put"
                   and each.reason != "evicted"}
        if puts.keys() != {name for name, value in outcome.puts.items() if value is not None} \
                or not removed <= outcome.puts.keys():
            raise Failure(f"revision {revision} is not whole: {outcome}")
        for name, effect in puts.items():
            if outcome.kind in ("put", "transaction", "import") and \
                    effect.value != outcome.puts[name]:
                raise Failure(f"revision {revision} has another value of {name}: {outcome}")
            if outcome.kind == "increment" and outcome.fate == MADE and \
                    int(outcome.answer) != effect.value:
                raise Failure(f"revision {revision}: {outcome} was answered {outcome.answer}")
            if outcome.matches and (effect.former or (0, 0))[1] != outcome.matches:
                raise Failure(f"If-Match {outcome.matches} held over {effect.former}: {outcome}")

    def _check_order(self):
        """A request that begins after an answer sees everything that the answer showed."""
        ended = sorted((each for each in self.checked if each.end and each.revision),
                       key=lambda each: each.end)
        times = [each.end for each in ended]
        most, greatest = [], 0
        for each in ended:
            greatest = max(greatest, each.revision)
            most.append(greatest)
        for outcome in self.checked:
            place = bisect.bisect_left(times, outcome.begin)
            seen = max(self.shown, most[place - 1] if place else 0)
            if outcome.kind == "get":
                self._check_read(outcome, seen)
            elif outcome.kind == "delete":
                self._check_deletion(outcome, seen)
            elif (outcome.revision or self.tokens.get(outcome.token, seen + 1)) <= seen:
                raise Failure(f"began after revision {seen} was shown, and came before: {outcome}")
        # Outcomes that are given later began after these.
        self.checked = []
        self.shown = max([self.shown] + most[-1:])

    def _check_deletion(self, outcome, seen):
        """The answer to DELETE has no revision."""
        if outcome.fate == MADE:
            self.deletions[outcome.name][0] += 1
            if max(self.removals[outcome.name], default=0) <= seen:
                raise Failure(f"acknowledged, and not there after {seen}: {outcome}")
        elif outcome.fate == UNKNOWN:
            self.deletions[outcome.name][1] += 1

    def _check_deletions(self):
        for name, (made, unknown) in self.deletions.items():
            if not made <= len(self.removals[name]) <= made + unknown:
                raise Failure(f"{name} was deleted {len(self.removals[name])} times, for {made} "
                              f"requests that were made and {unknown} of unknown outcome")

    def _check_read(self, outcome, seen):
        if outcome.status != 200 or outcome.fate != READ or not outcome.revision:
            return
        revisions, values = self.names[outcome.name]
        place = bisect.bisect_left(revisions, outcome.revision)
        if place == len(revisions) or revisions[place] != outcome.revision:
            raise Failure(f"was read, and is not in the history: {outcome}")
        if values[place] is None or json.dumps(values[place][0]).encode() != outcome.answer:
            raise Failure(f"was read, but the history has another value: {outcome}")
        if place + 1 < len(revisions) and revisions[place + 1] <= seen:
            raise Failure(f"was read after revision {seen} was shown, and is older: {outcome}")


def compare(state, expected, what):
    if state != expected:
        names = [name for name in sorted(state.keys() | expected.keys())
                 if state.get(name) != expected.get(name)]
        raise Failure(f"{what} differs from the history in {len(names)} properties: "
                      f"{short(names[0])} is {short(state.get(names[0]))}, not "
                      f"{short(expected.get(names[0]))}")


def token_of(effect):
    """The request of an effect."""
    if isinstance(effect.value, str):
        return int(TOKEN.match(effect.value)[1])
    if isinstance(effect.value, dict):
        return effect.value["t"]
    former = effect.former[0] if effect.former else 0
    return abs(effect.value - former)


def short(thing):
    text = repr(thing)
    return text if len(text) < 120 else f"{text[:120]}… ({len(text)})"
