"""Reads answers with httplint, which knows the rules of HTTP beyond those of openapi.yaml.

Runs with the Python of .build-tools, which has httplint.
"""

from httplint import HttpRequestLinter, HttpResponseLinter
from httplint.note import levels

# Findings of httplint for right answers, by rule and with the reason. Any other finding fails.
ACCEPTED = {
    "STATUS_BAD_REQUEST": "tells what 400 means",
    "STATUS_URI_TOO_LONG": "tells what 414 means",
    "FRESHNESS_NO_CACHE_NO_VALIDATOR": "lists and figures have no entity tag, and no cache may "
                                       "serve them",
    "LOCATION_UNDEFINED": "202 has the path of the operation, as RFC 9110, 15.3.3, asks for",
    "CREATED_WITHOUT_LOCATION": "what a PUT creates is at the target of the request",
}
# Header fields with one mistake each, and a part of its finding.
PLANTED = (
    ({"Cache-Control": "no-store", "ETag": "7"}, "etag"),
    ({"Cache-Control": "no-store", "Content-Type": "json"}, "content-type"),
    ({"Cache-Control": "no-store", "Date": "now"}, "date"),
    ({"Cache-Control": "no-store", "Content-Length": "3"}, "Content-Length"),
    ({"Date": "Sat, 28 Nov 2026 17:31:59 GMT"}, "no Cache-Control"),
)


def missed():
    """The planted mistakes that are not found, as sentences."""
    return [f"httplint overlooks {fields}" for fields, said in PLANTED
            if not any(said in each for each in mistakes(("GET", "/", ()),
                                                         (200, fields.items(), b"{}")))]


def mistakes(request, answer):
    """The mistakes of an answer, as sentences.

    A request is its method, target and header fields; an answer is its status, header fields and
    body, or None for a body that was not read. Fields are pairs of texts.
    """
    method, target, sent = request
    status, fields, body = answer
    asked = HttpRequestLinter(no_content=True)
    asked.process_request_topline(method.encode(), target.encode(), b"1.1")
    asked.process_headers(raw(sent))
    asked.finish_content(True)
    linter = HttpResponseLinter(no_content=body is None)
    linter.request = asked
    linter.is_head_response = method == "HEAD"
    linter.process_response_topline(b"1.1", str(status).encode(), b"")
    linter.process_headers(raw(fields))
    linter.feed_content(body or b"")
    linter.finish_content(True)
    found = [f"{type(note).__name__} of {note.subject}: {note.summary}"
             for top in linter.notes for note in (top, *top.subnotes)
             if note.level in (levels.BAD, levels.WARN) and type(note).__name__ not in ACCEPTED]
    # Without the field, caches decide.
    if "cache-control" not in linter.headers.parsed:
        found.append("there is no Cache-Control")
    return [f"{method} {target} is answered {status}: {each}" for each in found]


def raw(fields):
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
