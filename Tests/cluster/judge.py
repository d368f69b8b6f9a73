"""Whether the answers of several replicas can come from one service.

Design: revisions make the check exact without a search. All commits, in the order of their
revisions, are the one order of changes. An operation has a place in it: after the commit that it
made, or anywhere where its answer is true. Each operation gets the lowest place that is true and
not before the places of operations that had ended when it began. In the order of their begins, no
other choice leaves more room. If one has no place, no order explains all answers.
"""

import bisect
import collections
import heapq

from process import Failure

MADE, REFUSED, UNKNOWN, READ, FAILED = "made", "refused", "unknown", "read", "failed"


class Operation:
    """A request and its answer.

    `seen` is the content of the answer: for each name the revision and the value, (0, None) if
    there was none. `revision` is that of the commit, or of the state that was read.
    """

    def __init__(self, kind, replica, token=None, name=None, matches=None, puts=None, seen=None):
        self.kind, self.replica, self.token, self.name = kind, replica, token, name
        self.matches, self.puts, self.seen = matches, puts or {}, seen or {}
        self.begin = self.end = 0
        self.fate, self.status, self.revision, self.age = UNKNOWN, None, None, None
        self.place = None
        # The count that was read, and the least revision that was requested.
        self.count, self.least = None, 0

    def copy(self, **changes):
        other = Operation.__new__(Operation)
        other.__dict__ = {**self.__dict__, **changes}
        return other

    def __repr__(self):
        return str({key: value for key, value in self.__dict__.items() if value not in (None, {})})


class Order:
    """All commits, and each name's versions: (revision, value, created), None after a removal."""

    def __init__(self, start, changes):
        self.start, self.revision, self.tokens = start, start, {}
        self.versions = collections.defaultdict(lambda: [(start, None, 0)])
        # For each DELETE that was made: its name and the revision that it removed.
        self.removals, self.effects, self.amounts = {}, [], {}
        for change in changes:
            if change["revision"] != self.revision + 1:
                raise Failure(f"a gap: revision {change['revision']} follows {self.revision}")
            self.revision = change["revision"]
            for effect in change["effects"]:
                self._take(self.revision, effect)

    def _take(self, revision, effect):
        name, value = effect["name"], effect.get("value")
        self.effects.append((revision, name, value))
        former = self.versions[name][-1]
        if effect["type"] == "put":
            token = value["t"] if isinstance(value, dict) else value - (former[1] or 0)
            if self.tokens.setdefault(token, revision) != revision:
                raise Failure(f"token {token} was applied twice: {self.tokens[token]}, {revision}")
            self.versions[name].append((revision, value, effect["created"]))
            return
        if former[1] is None:
            raise Failure(f"revision {revision} removes {name}, which is not there")
        if effect.get("reason") == "deleted":
            self.removals[revision] = (name, former[0])
        self.versions[name].append((revision, None, 0))

    def at(self, name, place):
        """The revision and the value at a place: (0, None) for none."""
        return shown(self.versions[name][self._index(name, place)])

    def count(self, prefix, place):
        return sum(self.at(name, place)[0] > 0 for name in list(self.versions)
                   if name.startswith(prefix))

    def _index(self, name, place):
        return bisect.bisect_right(self.versions[name], place, key=lambda each: each[0]) - 1

    def lowest(self, name, floor, holds):
        """The lowest place from `floor` on where the version of a name holds, or None."""
        for version in self.versions[name][self._index(name, floor):]:
            if holds(shown(version)):
                return max(floor, version[0])
        return None

    def state(self):
        return {name: versions[-1] for name, versions in self.versions.items()
                if versions[-1][1] is not None}


def shown(version):
    return (version[0], version[1]) if version[1] is not None else (0, None)


class Floor:
    """The highest place of the operations that had ended at a time; times must rise."""

    def __init__(self, place):
        self.place, self.ended, self.witness = place, [], None

    def add(self, each):
        heapq.heappush(self.ended, (each.end, id(each), each))

    def at(self, time):
        while self.ended and self.ended[0][0] < time:
            each = heapq.heappop(self.ended)[2]
            if each.place > self.place:
                self.place, self.witness = each.place, each
        return self.place


class Ceiling:
    """The place just before all writes that began after a time."""

    def __init__(self, order, operations):
        writes = [(each.begin, each.place or order.tokens.get(each.token)) for each in operations
                  if each.fate in (MADE, UNKNOWN)]
        writes = sorted((begin, place) for begin, place in writes if place)
        self.begins, self.places, lowest = [begin for begin, _ in writes], [], order.revision + 1
        for _, place in reversed(writes):
            lowest = min(lowest, place)
            self.places.append(lowest)
        self.places.reverse()
        self.places.append(order.revision + 1)

    def at(self, time):
        return self.places[bisect.bisect_right(self.begins, time)] - 1


def check(order, operations):
    """Raises a Failure that names an answer which no order explains."""
    by_token = {each.token: each for each in operations if each.token is not None}
    for token, revision in order.tokens.items():
        if token not in by_token:
            raise Failure(f"revision {revision} comes from no request (token {token})")
        if by_token[token].fate in (REFUSED, FAILED):
            raise Failure(f"was refused, and is there at {revision}: {by_token[token]}")
    placed = [each for each in operations if each.kind != "plain"]
    _place(order, sorted(placed, key=lambda each: each.begin))
    _check_plain(order, operations)


def _place(order, operations):
    floor = Floor(order.start)
    # Removals that no other DELETE can have made.
    free = dict(order.removals)
    owned = {each: revision for revision, each in order.removals.items()}
    for each in operations:
        if each.kind == "delete" and each.fate == MADE and each.matches:
            if free.pop(owned.get((each.name, each.matches)), None) is None:
                raise Failure(f"acknowledged, and lost: {each}")
    unknown = []
    for each in operations:
        low = floor.at(each.begin)
        if each.fate == UNKNOWN:
            revision = order.tokens.get(each.token)
            if revision is not None and revision <= low:
                raise Failure(f"began after {low} was shown, and came before: {each}")
            if each.kind == "delete":
                unknown.append((low, each))
        elif each.fate in (MADE, READ, FAILED):
            each.place = _place_of(order, each, low, free, owned)
            if each.place is None:
                raise Failure(f"no order explains, from {low} on: {each}, "
                              f"there was {_there(order, each, low)}, after {floor.witness}")
            floor.add(each)
    for revision, (name, former) in sorted(free.items()):
        found = next((pair for pair in unknown if pair[1].name == name and pair[0] < revision
                      and pair[1].matches in (None, former)), None)
        if found is None:
            raise Failure(f"revision {revision} removes {name}, which no request has asked for")
        unknown.remove(found)


def _there(order, each, low):
    return {name: order.at(name, low) for name in {each.name, *each.seen} if name}


def _place_of(order, each, low, free, owned):
    if each.fate == MADE:
        return _place_of_write(order, each, low, free, owned)
    if each.kind in ("page", "transaction", "count", "export"):
        # The answer contains its place.
        holds = low <= each.revision <= order.revision and _sees(order, each, each.revision)
        if each.kind == "transaction":
            holds = holds and order.at(each.name, each.revision)[0] != each.matches
        return each.revision if holds else None
    if each.status == 304:
        return order.lowest(each.name, low, lambda found: found[0] <= each.matches)
    if each.kind in ("get", "head", "poll") and each.status == 200:
        if each.kind == "poll" and each.seen[each.name][0] <= each.matches:
            return None
        low = max(low, each.revision or 0)
        return order.lowest(each.name, low, lambda found: found == each.seen[each.name])
    if each.status == 404:
        return order.lowest(each.name, low, lambda found: found[0] == 0)
    # 412: If-Match with another revision, or If-None-Match: *, which is `matches` 0.
    return order.lowest(each.name, low, lambda found: found[0] != each.matches)


def _place_of_write(order, each, low, free, owned):
    if each.kind == "delete":
        if each.matches:
            place = owned[(each.name, each.matches)]
        else:
            place = min((revision for revision, (name, _) in free.items()
                         if name == each.name and revision > low), default=None)
            free.pop(place, None)
        return place if place is None or place > low else None
    place = order.tokens.get(each.token)
    if place is None:
        raise Failure(f"acknowledged, and lost: {each}")
    if place != each.revision:
        raise Failure(f"acknowledged, but it is at {place}: {each}")
    if place <= low or not _sees(order, each, place):
        return None
    if each.matches is not None and order.at(each.name, place - 1)[0] != each.matches:
        return None
    return place


def _sees(order, each, place):
    return all(order.at(name, place) == found for name, found in each.seen.items()) and (
        each.count is None or each.count == order.count("p/", place))


def _check_plain(order, operations):
    """Plain reads: their age, their replica's writes, and that none goes back."""
    acknowledged = Floor(order.start)
    own = collections.defaultdict(lambda: Floor(order.start))
    for each in operations:
        if each.fate == MADE:
            acknowledged.add(each)
            own[each.replica].add(each)
    ceiling = Ceiling(order, operations)
    reads = [each for each in operations if each.kind == "plain" and each.fate == READ]
    for each in sorted(reads, key=lambda each: each.begin - each.age):
        low = acknowledged.at(each.begin - each.age)
        if not _is_between(order, each, low, ceiling):
            raise Failure(f"the age is too small, {low} was acknowledged before: {each}, "
                          f"after {acknowledged.witness}")
    last = collections.defaultdict(lambda: Floor(order.start))
    for each in sorted(reads, key=lambda each: each.begin):
        low = own[each.replica].at(each.begin)
        if not _is_between(order, each, low, ceiling):
            raise Failure(f"its replica had answered a write at {low} before: {each}")
        if not _is_between(order, each, max(order.start, each.least), ceiling):
            raise Failure(f"is older than was asked for: {each}")
        low = last[each.replica].at(each.begin)
        if not _is_between(order, each, low, ceiling):
            raise Failure(f"its replica had shown {low} before: {each}")
        each.place = each.revision or 0
        last[each.replica].add(each)


def _is_between(order, each, low, ceiling):
    """Whether a read can have seen a state from a place on, and none of later writes."""
    high = ceiling.at(each.end)
    if len(each.seen) != 1:
        return low <= each.revision <= high and _sees(order, each, each.revision)
    (name, expected), = each.seen.items()
    low = max(low, each.revision or 0)
    place = order.lowest(name, low, lambda found: found == expected)
    return place is not None and place <= high


def check_events(order, first, events):
    """A watch must get each effect after a revision once, in order."""
    compare_events([each for each in order.effects if each[0] > first], events)


def compare_events(expected, events):
    if events != expected:
        index = next((index for index, pair in enumerate(zip(events, expected))
                      if pair[0] != pair[1]), min(len(events), len(expected)))
        raise Failure(f"a watch got {len(events)} events, and {len(expected)} happened; number "
                      f"{index} is {events[index:index + 1]}, not {expected[index:index + 1]}")
