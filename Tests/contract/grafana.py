#!/usr/bin/env python3
"""Checks a dashboard against Grafana's schema, as the classes of its SDK define it.

    .build-tools/python/bin/python Tests/contract/grafana.py deploy/grafana-dashboard.json

Everything in the file must come back from the classes. A field that they do not know, or know with
another type, is lost or changed. Panels may not overlap, and have numbers of their own.
"""

import copy
import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

COLUMNS = 24


def through_schema(board):
    return json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))


def lost(before, after, path=""):
    """The parts of `before` that `after` lacks, as paths."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            if name not in after:
                yield f"{path}/{name} is not in the schema"
            else:
                yield from lost(value, after[name], f"{path}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after)):
            yield from lost(*pair, f"{path}/{index}")
    elif before != after:
        yield f"{path} becomes {after!r}"


def misplaced(panels):
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        if place["x"] + place["w"] > COLUMNS:
            yield f"{panel['title']} is wider than the page"
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                if other is not panel["title"]:
                    yield f"{panel['title']} is on top of {other}"
                    return
    numbers = [panel["id"] for panel in panels]
    if len(set(numbers)) < len(numbers):
        yield "two panels have the same id"


def mistakes(board):
    return [*lost(board, through_schema(board)), *misplaced(board["panels"])]


def main():
    register_default_plugins()
    with open(sys.argv[1], encoding="utf-8") as file:
        board = json.load(file)
    found = mistakes(board)
    broken = copy.deepcopy(board)
    broken["panels"][1]["targets"][0]["query"] = broken["panels"][1]["targets"][0].pop("expr")
    if not mistakes(broken):
        found.append("a target without an expression is overlooked")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
