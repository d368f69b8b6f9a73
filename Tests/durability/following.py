"""A follower that switches its strategy every 50 ms: it equals its leader, and never goes back.

Design: clients write to the leader; readers and watches are at the follower, whose strategy is
switched. The leader's history determines each answer of the follower, and both end with the same
state and the same changes.
"""

import itertools
import random

import history
import load
import seeing
from process import Failure, await_true
from readers import NAMES
from service import STRATEGIES, Service
from switcher import Switcher
from watching import Watch

STRIPES = (1, 128)


def older(seen, _):
    """A reader was shown an older state after a newer one."""
    pages = next(each for each in seen if each and each[0].kind == "a page")
    first = next(each for each in pages if each.revision < pages[-1].revision)
    pages.append(first)


def lost(_, changes):
    """A change of the leader has not arrived at the follower."""
    changes.pop(len(changes) // 2)


PLANTS = {"older": older, "lost": lost}


def run(arguments, scratch):
    counts = {"followers": 0, "commits": 0, "requests": 0, "switches": 0} | {
        kind.__name__: 0 for kind in seeing.KINDS}
    starts = itertools.cycle(itertools.product(STRIPES, STRATEGIES))
    for number in range(arguments.followers):
        stripes, strategy = next(starts)
        # The actor has one stripe.
        strategy = strategy if stripes == 1 or strategy != "actor" else "adaptive"
        path = scratch / str(number)
        path.mkdir()
        try:
            follow(arguments, path, counts, "--strategy", strategy, "--stripes", str(stripes))
        except (Failure, OSError) as failure:
            raise Failure(f"{path}, from {strategy}, {stripes} stripes: {failure}") from None
        counts["followers"] += 1
    figures = ", ".join(f"{value} {name}" for name, value in counts.items())
    if not all(counts.values()):
        raise Failure(f"a kind of reader has seen nothing: {figures}")
    return figures


def follow(arguments, path, counts, *options):
    seed = f"{arguments.seed}.{path.name}"
    choose = random.Random(seed)
    with Service(arguments.binary, None, "--history-bytes", "256MiB", log=path / "log") as leader, \
            Service(arguments.binary, None, "--history-bytes", "256MiB", "--follow", leader.url,
                    *options, *arguments.option, log=path / "follower.log") as follower:
        known = history.History(leader.export()[1])
        begin, watch = known.revision, Watch(known.revision)
        watch.follow(follower)
        readers = seeing.start(follower, lambda: random.Random(choose.random()), NAMES, "s/")
        with Switcher(follower, seed) as switcher, \
                load.Load(leader, seed, load.tokens()) as running:
            await_true("there are so many switches", lambda: switcher.error or len(
                switcher.reports) >= arguments.switches)
            running.stop()
            await_true("the follower is level", lambda: switcher.error or
                       follower.ask("GET", "/v1/export?replica=true")[2]
                       == leader.ask("GET", "/v1/export?replica=true")[2])
        if running.errors:
            raise Failure(running.errors[0])
        known.extend(*leader.changes(begin))
        known.check(running.outcomes)
        watch.wait_for(known.revision)
        # A property may have expired meanwhile.
        while not watch.check(known):
            known.extend(*leader.changes(known.revision))
            watch.wait_for(known.revision)
        changes, got = ([each for each in service.changes(begin)[0]
                         if each["revision"] <= known.revision] for service in (leader, follower))
        follower.kill()
        seeing.finish(readers)
        seen = [[each for each in reader.seen if each.revision <= known.revision]
                for reader in readers]
        if arguments.plant:
            PLANTS[arguments.plant](seen, got)
        judge(seen, known)
        if got != changes:
            raise Failure(f"the leader has {len(changes)} changes, and the follower other "
                          f"{len(got)}")
        counts["commits"] += len(changes)
        counts["requests"] += len(running.outcomes)
        for reader in readers:
            counts[type(reader).__name__] += len(reader.seen)
        counts["switches"] += len(switcher.reports)


def judge(seen, known):
    """Each answer is in the history, and never older than what its reader had seen."""
    for answers in seen:
        seeing.judge(answers, known)
        last = {}
        for each in answers:
            # A value has its own revision, all others that of the state.
            subject = each.rows[0][0] if each.kind == "a value" else each.kind
            if each.revision < last.get(subject, 0):
                raise Failure(f"was shown after {last[subject]}, and is older: {each}")
            last[subject] = each.revision
