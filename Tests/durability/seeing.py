"""Readers that record their answers, and the judge of them.

Design: each answer names the revision of its state, so the history determines it exactly. Each
reader has a connection and a list that only its thread writes, so answers are judged only
afterwards. A reader that loses its service ends.
"""

import http.client
import json
import threading
import time

from process import PATIENCE_SECONDS, Failure, events

POLL_SECONDS = 2


class Seen:
    """An answer: its kind, the state's revision, and rows (name, revision, value).

    `whole` is a prefix if the rows are all with that prefix. `end` is the time of the answer.
    """

    def __init__(self, kind, revision, rows, whole=None):
        self.kind, self.revision, self.rows, self.whole = kind, revision, rows, whole
        self.end = time.monotonic_ns()

    def __repr__(self):
        return f"{self.kind} at revision {self.revision} with {str(self.rows)[:200]}"


class Reader(threading.Thread):
    """Repeats one kind of request until it is stopped, or the service has gone."""

    def __init__(self, service, choose, names, prefix):
        super().__init__(daemon=True)
        self.address, self.choose, self.names, self.prefix = (
            service.address, choose, names, prefix)
        self.seen, self.is_stopped, self.error = [], threading.Event(), None
        self.connection = None

    def run(self):
        try:
            self.connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE_SECONDS)
            while not self.is_stopped.is_set():
                self.step()
        except (OSError, http.client.HTTPException):
            pass
        except Exception as error:  # noqa: BLE001
            self.error = error
        finally:
            if self.connection:
                self.connection.close()

    def note(self, *words, **others):
        self.seen.append(Seen(*words, **others))

    def get(self, target):
        self.connection.request("GET", target)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def stop(self):
        """Stops without waiting for an answer that never comes."""
        self.is_stopped.set()


class Values(Reader):
    """Reads one property."""

    def query(self):
        return ""

    def step(self):
        name = self.choose.choice(self.names)
        answer, text = self.get("/v1/properties/" + name.replace("/", "%2F") + self.query())
        if answer.status == 200:
            revision = int(answer.headers["ETag"].strip('"'))
            self.note("a value", revision, [(name, revision, json.loads(text))])


class Polls(Values):
    """Waits for the next value of a property."""

    def query(self):
        latest = max((each.revision for each in self.seen), default=0)
        return f"?after={latest}&wait={POLL_SECONDS}"


class Pages(Reader):
    """Reads all properties of a prefix as of one revision."""

    def step(self):
        answer, text = self.get(f"/v1/properties?prefix={self.prefix}&limit=1000")
        if answer.status == 200:
            page = json.loads(text)
            self.note("a page", page["revision"],
                      [(row["name"], row["revision"], row["value"])
                       for row in page["properties"]],
                      whole=None if "next" in page else self.prefix)


class Changes(Reader):
    """Reads the history, from the last change that it has shown."""

    after = None

    def step(self):
        if self.after is None:
            answer, text = self.get("/v1/export")
            if answer.status == 200:
                self.after = json.loads(text.splitlines()[-1])["revision"]
            return
        answer, text = self.get(f"/v1/changes?limit=1000&after={self.after}")
        if answer.status == 200:
            page = json.loads(text)
            for change in page["changes"]:
                self.note("the history", change["revision"],
                          [(effect["name"], change["revision"], effect.get("value"))
                           for effect in change["effects"]])
                self.after = change["revision"]
            self.note("the end of the history", page["revision"], [])


class Watch(Reader):
    """A stream of events, from the start of the reader to the end of the service."""

    def step(self):
        self.connection.request("GET", "/v1/watch")
        answer = self.connection.getresponse()
        for event, data, _ in events(answer):
            if event in ("put", "delete", "expire"):
                self.note("an event", data["revision"],
                          [(data["name"], data["revision"], data.get("value"))])
        self.is_stopped.set()


KINDS = (Values, Polls, Pages, Changes, Watch)


def start(service, choose, names, prefix, kinds=KINDS):
    readers = [kind(service, choose(), names, prefix) for kind in kinds]
    for reader in readers:
        reader.start()
    return readers


def finish(readers):
    """All answers. Each reader has lost its service, or has its last answer."""
    for reader in readers:
        reader.stop()
        reader.join(PATIENCE_SECONDS)
        if reader.is_alive() or reader.error:
            raise Failure(f"a reader: {reader.error or 'does not end'}")
    return [each for reader in readers for each in reader.seen]


def judge(seen, history):
    """Each answer must be in the history."""
    for each in seen:
        if each.revision > history.revision:
            raise Failure(f"was shown, and has vanished (the end is {history.revision}): {each}")
        for name, revision, value in each.rows:
            revisions, values = history.names[name]
            found = next((found for at, found in zip(revisions, values) if at == revision), ())
            if found == () or (found[0] if found else None) != value:
                raise Failure(f"was shown, and is not in the history: {each}: {name} at "
                              f"{revision}: {str(value)[:100]}, not {str(found)[:100]}")
        if each.whole is not None:
            state = {name: found for name, found in history.state_at(each.revision).items()
                     if name.startswith(each.whole)}
            shown = {name: (value, revision) for name, revision, value in each.rows}
            if {name: found[:2] for name, found in state.items()} != shown:
                raise Failure(f"is not the state of its revision: {each}")
