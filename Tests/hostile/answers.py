"""Reads the answers in the bytes that a connection delivered, however many there are."""

import json


class Answer:
    """One answer. `whole` says whether its body has all the bytes that its head promises."""

    def __init__(self, status, fields, body, whole):
        self.status, self.fields, self.body, self.whole = status, fields, body, whole

    @property
    def closes(self):
        return self.fields.get("connection", "").lower() == "close"

    def problem(self):
        """The problem document, or None if the body is not one."""
        if self.fields.get("content-type", "").split(";")[0] != "application/problem+json":
            return None
        try:
            document = json.loads(self.body)
        except ValueError:
            return None
        right = isinstance(document, dict) and document.get("status") == self.status
        return document if right and isinstance(document.get("type"), str) else None


def parse(data, first_is_head=False):
    """The answers and the rest: b"" if the stream ended at a boundary.

    A body ends where Content-Length has it; one without a length takes the rest. Interim answers
    (1xx) are left out. With `first_is_head` the first answer has no body.
    """
    found, position = [], 0
    while (end := data.find(b"\r\n\r\n", position)) >= 0:
        first, *lines = bytes(data[position:end]).decode("latin-1").split("\r\n")
        words = first.split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            break
        status = int(words[1])
        fields = {name.lower(): value.strip()
                  for name, _, value in (line.partition(":") for line in lines)}
        position = end + 4
        if status < 200:
            continue
        if first_is_head and not found or status in (204, 304):
            count = 0
        else:
            count = int(fields.get("content-length", len(data) - position))
        body = bytes(data[position:position + count])
        found.append(Answer(status, fields, body, len(body) == count))
        position = min(position + count, len(data))
    return found, bytes(data[position:])
