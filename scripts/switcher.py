"""Chooses another strategy of a running service at random, again and again."""

import http.client
import json
import random
import threading

from process import ANSWER_SECONDS_MAX, Failure

# From one switch to the next.
SECONDS = 0.05


class Switcher(threading.Thread):
    """Switches a service until it is left. A context manager.

    It continues after a restart. `among` are names of strategies; None: all strategies of the
    service except those that it refuses for its stripes. Each entry of `reports` is the answer to a
    switch.
    """

    def __init__(self, service, seed, among=None, seconds=SECONDS):
        super().__init__(daemon=True)
        self.service, self.choose, self.seconds = service, random.Random(f"switch {seed}"), seconds
        self.among = list(among or [])
        self.reports, self.refused = [], set()
        self.is_stopped, self.error, self.connection = threading.Event(), None, None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.is_stopped.set()
        self.join(ANSWER_SECONDS_MAX)
        if kind is not None:
            return
        if self.error:
            raise Failure(f"the switcher: {self.error}") from self.error
        if self.is_alive():
            raise Failure("a switch has no end")

    def run(self):
        try:
            while not self.is_stopped.wait(self.seconds):
                self.switch_unless_gone()
        except Exception as error:  # noqa: BLE001
            self.error = error
        finally:
            self.close()

    def switch_unless_gone(self):
        """A service that is killed, or starts, is asked again later."""
        if self.service.url is None:
            return
        try:
            self.connection = self.connection or self.service.connect()
            self.among = self.among or names(self.ask("GET", "strategies")[1])
            self.switch(self.pick(self.reports[-1]["to"] if self.reports else None))
        except TimeoutError as error:
            raise Failure("a switch is not answered") from error
        except (OSError, http.client.HTTPException):
            self.close()

    def pick(self, last):
        """The next strategy."""
        return self.choose.choice([each for each in self.among if each != last])

    def switch(self, strategy):
        status, answer = self.ask("PUT", "strategy", json.dumps({"strategy": strategy}))
        if status == 200:
            self.reports.append(answer)
        elif status == 422:
            # It needs one stripe.
            self.refused.add(strategy)
            self.among.remove(strategy)
        elif status != 503:
            raise Failure(f"a switch to {strategy} was answered {status}: {answer}")

    def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body else {}
        self.connection.request(method, f"/v1/{path}", body, headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


def names(strategies):
    """The names in an answer to GET /v1/strategies."""
    return [each["name"] for each in strategies["strategies"]]
