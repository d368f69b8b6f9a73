"""A client that follows the changes, is cut off by a kill, and continues from its last id."""

import http.client
import threading

from process import PATIENCE_SECONDS, Failure, await_true, events



class Watch:
    """Events and the state that they make, over any number of connections."""

    def __init__(self, revision=None):
        """Starts after a revision whose state is empty; without one, with the present state."""
        self.state, self.revision, self.last_id = {}, revision, None
        self.is_whole, self.first = revision is not None, (revision or 0) + 1
        self.start = "initial=true" if revision is None else f"after={revision}"
        self.effects, self.ended, self.error = [], True, None
        self.address = self.connection = None
        # Guards the fields that an event changes.
        self.lock = threading.Lock()

    def follow(self, service):
        self.address, self.ended = service.address, False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
        if not self.is_whole:
            self.state = {}
        try:
            self.connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE_SECONDS)
            self.connection.request("GET", f"/v1/watch?{self.start}", headers=headers)
            self._take(self.connection.getresponse())
        except (OSError, http.client.HTTPException):
            pass
        except (KeyError, ValueError, Failure) as error:
            self.error = error
        self.ended = True

    def _take(self, answer):
        for event, data, number in events(answer):
            with self.lock:
                self._event(event, data, number)

    def _event(self, event, data, number):
        if event == "gap":
            raise Failure(f"a watch that resumed at {self.last_id} got a gap: {data}")
        if event == "ready":
            self.is_whole, self.revision = True, data["revision"]
            self.first = self.revision + 1
        elif event == "put":
            self.state[data["name"]] = (data["value"], data["revision"], data["created"])
        elif event in ("delete", "expire"):
            # The state at the start has no expired property.
            if self.state.pop(data["name"], None) is None and event == "delete":
                raise Failure(f"an event removes what is not there: {data}")
        if number:
            self.last_id = number
            if self.is_whole and event != "ready":
                self.effects.append((data["revision"], event, data["name"]))
                if "." not in number:
                    self.revision = int(number)

    def wait_for(self, revision):
        await_true(lambda: f"a watch at {self.revision} ({self.last_id}) gets to {revision}",
                   lambda: self.error or self.is_whole and self.revision >= revision)
        if self.error:
            raise Failure(f"a watch: {self.error}")

    def stop(self):
        if self.connection and self.connection.sock:
            self.connection.sock.close()

    def check(self, history):
        """Each event of each commit must have come once, in order.

        Returns false if there were commits after the last one in `history`.
        """
        with self.lock:
            if self.revision > history.revision:
                return False
            history.compare(self.state, "what a watch has seen")
            effects = list(self.effects)
        expected = [(revision, each.type, each.name)
                    for revision in range(self.first, history.revision + 1)
                    for each in history.commits[revision]]
        if effects != expected:
            raise Failure(f"a watch got {len(effects)} events from {self.first} on, and "
                          f"{len(expected)} happened")
        return True
