"""Prints the events of a watch as lines of JSON, with a client library that reconnects."""

import json
import sys

from requests_sse import EventSource

with EventSource(sys.argv[1], timeout=120) as source:
    for event in source:
        print(json.dumps({"type": event.type, "data": json.loads(event.data),
                          "id": event.last_event_id}), flush=True)
