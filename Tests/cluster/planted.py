"""Violations that are planted in a recorded history; the judge has to find them."""

from types import SimpleNamespace

from availability import Availability
from judge import MADE, READ, REFUSED, Order, check, check_events


def lost(start, changes, operations, events):
    """The last acknowledged write is in no history."""
    each = max((each for each in operations if each.fate == MADE and each.kind == "put"),
               key=lambda each: each.revision)
    count = each.revision - start - 1
    return start, changes[:count], [one for one in operations if (one.place or 0) < each.revision
                                    or one is each], events


def doubled(start, changes, operations, events):
    """The last increment was applied once more."""
    of = {each["revision"]: each for each in changes}
    each = max((each for each in operations if each.fate == MADE and each.kind == "increment"),
               key=lambda each: each.revision)
    value = next(effect["value"] for change in reversed(changes) for effect in change["effects"]
                 if effect["name"] == each.name)
    again = {**of[each.revision], "revision": changes[-1]["revision"] + 1}
    again["effects"] = [{**again["effects"][0], "value": value + each.token}]
    return start, changes + [again], operations, events


def stale(start, changes, operations, events):
    """A linearizable read was answered with the version before the one that it had to see."""
    order = Order(start, changes)
    for each in operations:
        if each.kind != "get" or each.fate != READ or not each.seen[each.name][0]:
            continue
        # It began after the write had been answered.
        write = next((one for one in operations if one.fate == MADE and one.name == each.name
                      and one.revision == each.seen[each.name][0]), None)
        if write and write.end < each.begin:
            former = order.at(each.name, write.revision - 1)
            other = each.copy(seen={each.name: former}, revision=None)
            return start, changes, replace(operations, each, other), events
    raise AssertionError("no read for the plant")


def refused(start, changes, operations, events):
    """A write that was made was answered with 503."""
    each = next(each for each in operations if each.fate == MADE and each.kind == "put")
    return start, changes, replace(operations, each, each.copy(fate=REFUSED, status=503)), events


def young(start, changes, operations, events):
    """A plain read has an age that is less than that of its state."""
    order = Order(start, changes)
    writes = [each for each in operations if each.fate == MADE]
    for each in operations:
        if each.kind == "plain" and each.fate == READ and each.name and each.seen[each.name][0]:
            write = next((one for one in writes if one.name == each.name
                          and one.revision == each.seen[each.name][0]
                          and one.replica != each.replica and one.end < each.begin), None)
            if write:
                other = each.copy(age=0, revision=None,
                                  seen={each.name: order.at(each.name, write.revision - 1)})
                return start, changes, replace(operations, each, other), events
    raise AssertionError("no read for the plant")


def old(start, changes, operations, events):
    """A read with `min-revision` shows a value that was replaced before."""
    order = Order(start, changes)
    for each in operations:
        if each.kind == "plain" and each.fate == READ and each.name and each.seen[each.name][0]:
            versions = order.versions[each.name]
            later = next((one[0] for one in versions if one[0] > each.seen[each.name][0]), None)
            if later:
                other = each.copy()
                other.least = later
                return start, changes, replace(operations, each, other), events
    raise AssertionError("no read for the plant")


def count(start, changes, operations, events):
    """A linearizable count leaves one property out."""
    each = next(each for each in operations if each.kind == "count" and each.fate == READ)
    return start, changes, replace(operations, each, each.copy(count=each.count - 1)), events


def slow(start, changes, operations, events):
    """A write was refused late without an excuse."""
    each = next(each for each in operations if each.fate == MADE and each.kind == "put")
    late = each.copy(fate=REFUSED, status=503, end=each.begin + 5_000_000_000)
    Availability().judge([late], [], [], {"all": [], "writes": []})
    return start, changes, operations, events


def full(start, changes, operations, events):
    """A replica whose disk has room reports that it is full."""
    each = next(each for each in operations if each.fate == MADE and each.kind == "put")
    excuses = {"all": [(each.replica, each.end + 1, each.end + 2)], "writes": []}
    Availability().judge([each.copy(fate=REFUSED, status=507)], [], [], excuses)
    return start, changes, operations, events


def pause(start, changes, operations, events):
    """A replica made no write for 7 s after the end of its excuse."""
    replica = SimpleNamespace(number=0)
    talker = SimpleNamespace(replica=replica, operations=[], began=0, ended=9_000_000_000)
    Availability().judge([], [talker], [], {"all": [], "writes": [(0, 1_000, 2_000_000_000)]})
    return start, changes, operations, events


def event(start, changes, operations, events):
    """A watch has lost an event."""
    return start, changes, operations, events[:len(events) // 2] + events[len(events) // 2 + 1:]


def replace(operations, each, other):
    return [other if one is each else one for one in operations]


PLANTS = {"a lost write": lost, "a doubled one": doubled, "a stale linearizable read": stale,
          "a 503 that shows up": refused, "an age that is too small": young,
          "an older state than asked for": old, "a count that is too small": count,
          "a late 503": slow, "a 507 of a disk with room": full,
          "a pause of writes": pause, "a lost event": event}


def judge(start, changes, operations, events):
    order = Order(start, changes)
    check(order, operations)
    check_events(order, start, events)
    return order
