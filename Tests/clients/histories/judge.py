"""Whether the results that clients got agree with the service's own history.

The history has all changes, in their order. Each write of a client has a unique name, so the
history shows without doubt what was made, how often, and by which call. Each function returns
sentences, one for each violation.
"""

import collections
import dataclasses

# The last property that is written.
END = "end"


@dataclasses.dataclass
class Write:
    """A write with a unique name. `fate`: "made", "refused" or "unknown"."""

    driver: str
    kind: str
    name: str
    fate: str
    said: object = None


@dataclasses.dataclass
class Grant:
    """A lock that a client had. According to the client it surely held it from `begin` to `end`.

    `begin` is the time after the answer. `end` is the time before a question plus the time that its
    answer promises. So two grants that overlap here did overlap, however late the answers came.
    """

    driver: str
    lock: str
    token: int
    begin: float
    end: float


@dataclasses.dataclass
class Attempt:
    """A job that a worker had. Its steps were to create `mark`."""

    driver: str
    job: str
    mark: str
    fate: str


@dataclasses.dataclass
class Pop:
    driver: str
    fate: str
    name: str = ""


@dataclasses.dataclass
class Followed:
    """The events of a watch, in order. `is_whole`: it got the last change."""

    driver: str
    names: tuple
    prefixes: tuple
    after: int
    is_initial: bool
    events: list = dataclasses.field(default_factory=list)
    is_whole: bool = False
    error: str = ""


@dataclasses.dataclass
class Records:
    """The results that all clients got. Threads add to the lists."""

    writes: list = dataclasses.field(default_factory=list)
    grants: list = dataclasses.field(default_factory=list)
    attempts: list = dataclasses.field(default_factory=list)
    pops: list = dataclasses.field(default_factory=list)
    followed: list = dataclasses.field(default_factory=list)
    # Sentences about answers that are wrong in themselves.
    wrong: list = dataclasses.field(default_factory=list)


def changes(service):
    """All changes of the history."""
    after, found = 0, []
    while True:
        page = service.ask_json(f"/v1/changes?after={after}&limit=1000")
        found += page["changes"]
        if not page["hasMore"]:
            return found
        after = page["next"]


class Truth:
    """The history of the service: its effects in order, and the effects of each name."""

    def __init__(self, changes):
        self.effects = [
            (change["revision"], effect["type"], effect["name"], effect.get("value"))
            for change in changes for effect in change["effects"]]
        self.end = max((index for index, effect in enumerate(self.effects, 1)
                        if effect[2] == END), default=len(self.effects))
        self.of = collections.defaultdict(list)
        for effect in self.effects:
            self.of[effect[2]].append(effect)

    def count(self, name, kind="put"):
        return sum(effect[1] == kind for effect in self.of.get(name, ()))


def judge(records, truth):
    return [*records.wrong, *writes(records, truth), *sums(records, truth),
            *holders(records.grants), *fences(truth), *jobs(records, truth),
            *pops(records, truth), *watches(records.followed, truth)]


ALLOWED = {"made": (1,), "refused": (0,), "unknown": (0, 1)}


def writes(records, truth):
    for write in records.writes:
        if write.kind == "sum":
            continue
        kind = "delete" if write.kind == "delete" else "put"
        count = truth.count(write.name, kind)
        if write.name.startswith("pops/"):
            # A cancelled pop puts its job back; see `pops`.
            count = min(count, 1)
        if count not in ALLOWED[write.fate]:
            what = {0: "was lost", 1: "was made"}.get(count, f"was made {count} times")
            yield (f"{write.driver}: a {write.kind} that was {write.fate} {what}: {write.name}; "
                   f"{write.said}")


def sums(records, truth):
    """Checks the shared counter. Each sum is one that it had, and appears once."""
    counted = truth.count("shared")
    made = [write for write in records.writes if write.kind in ("sum", "transaction")]
    said = [write.said for write in made if write.kind == "sum" and write.fate == "made"]
    low = sum(write.fate == "made" for write in made)
    high = low + sum(write.fate == "unknown" for write in made)
    if not low <= counted <= high:
        yield f"the counter is {counted}: not between {low} acknowledged and {high} possible"
    for value, count in collections.Counter(said).items():
        if count > 1:
            yield f"{count} increments were answered with the same sum, {value}"


def holders(grants):
    """Two clients never hold a lock at the same time."""
    by_lock = collections.defaultdict(list)
    for grant in grants:
        by_lock[grant.lock].append(grant)
    for lock, held in by_lock.items():
        former = None
        for grant in sorted(held, key=lambda each: each.token):
            if former and former.token == grant.token:
                yield f"{lock}: {former.driver} and {grant.driver} have the same token"
            elif former and former.end > grant.begin:
                yield (f"{lock}: two holders at once: {former.driver} for another "
                       f"{former.end - grant.begin:.3f} s when {grant.driver} had it")
            if former is None or grant.end > former.end:
                former = grant


def fences(truth):
    """The tokens of guarded writes never go back."""
    last = {}
    for _, kind, name, value in truth.effects:
        if name.startswith("fences/") and kind == "put":
            if value < last.get(name, 0):
                yield f"{name}: the token {value} wrote after {last[name]}"
            last[name] = value


def jobs(records, truth):
    for name in [name for name in truth.of if name.startswith("jobs/")]:
        count = truth.count("done/" + name)
        if count != 1:
            yield f"{name} was {'lost' if count == 0 else f'done {count} times'}"
    for attempt in records.attempts:
        count = truth.count(attempt.mark)
        if count not in ALLOWED[attempt.fate]:
            yield (f"{attempt.driver}: {attempt.job}, which it {attempt.fate}, was "
                   f"{'not ' if count == 0 else ''}done by it")


def pops(records, truth):
    """Each pop removes one job, which its answer names. A pop in doubt may have removed one."""
    given = collections.Counter(pop.name for pop in records.pops if pop.fate == "made")
    # A cancelled pop gives its job back, unless that fails too.
    unknown = sum(pop.fate in ("unknown", "cancelled") for pop in records.pops)
    missing = returned = 0
    for name in [name for name in truth.of if name.startswith("pops/")]:
        removed = truth.count(name, "delete")
        came_back = truth.count(name) - 1
        returned += came_back
        if given[name] > removed:
            yield f"{name} was given to {given[name]} and removed {removed} times"
        missing += removed - given[name] - came_back
    if returned > unknown:
        yield f"{returned} popped jobs were made again, and {unknown} pops were in doubt"
    if missing > unknown:
        yield f"{missing} popped jobs were given to no caller, and {unknown} pops were in doubt"


def watches(followed, truth):
    for each in followed:
        problem = each.error or _broken(each, truth)
        if problem:
            yield f"{each.driver}: the watch of {each.names} {each.prefixes}: {problem}"


def _broken(each, truth):
    """The error in the events of a watch, or None."""
    # After the last change come expiries, which no watch waits for.
    expected = [effect for effect in truth.effects[:truth.end] if effect[2] in each.names
                or effect[2].startswith(each.prefixes)]
    position, state = 0, {} if each.is_initial else None
    if not each.is_initial:
        position = sum(effect[0] <= each.after for effect in expected)
    for kind, name, revision, value in each.events:
        if kind == "gap":
            state = {}
        elif state is None:
            wanted = expected[position] if position < len(expected) else None
            if wanted != (revision, kind, name, value):
                return f"{(revision, kind, name, value)} came in place of {wanted}"
            position += 1
        elif kind == "put":
            state[name] = (revision, value)
        elif kind == "ready":
            position = sum(effect[0] <= revision for effect in expected)
            last = {effect[2]: effect for effect in expected[:position]}
            wanted = {name: (effect[0], effect[3]) for name, effect in last.items()
                      if effect[1] == "put"}
            # An expired property is not shown, also before the commit that removes it.
            over = {name for name in wanted.keys() - state.keys() if next(
                (effect[1] for effect in expected[position:] if effect[2] == name), "") == "expire"}
            if state != {name: wanted[name] for name in wanted.keys() - over}:
                return f"the state at {revision} differs: {set(state) ^ set(wanted)}"
            state = None
        else:
            return f"{kind} came within the state"
    if each.is_whole and position != len(expected):
        return f"{len(expected) - position} changes are missing"
    return None
