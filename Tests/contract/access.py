"""Rights: each operation of openapi.yaml with each right, alone and together.

The table is made from the `security` of the operations, so it also has new routes. httplint checks
each answer, too.

    access.py --list
    access.py URL TOKENS

TOKENS is a JSON file of the tokens by their rights. Runs with the Python of .build-tools, which has
PyYAML and httplint.
"""

import http.client
import itertools
import json
import pathlib
import sys
import urllib.parse

import yaml

import lint

CONTRACT = pathlib.Path(__file__).resolve().parent.parent.parent / "openapi.yaml"
METHODS = ("get", "head", "put", "post", "patch", "delete")
RIGHTS = ("read", "write", "operations", "fetch", "compare", "export", "import", "admin",
          "backup")
# Body and media type that let a request get as far as the check of its rights.
BODIES = {
    "putProperty": ("application/json", b"1"),
    "patchProperty": ("application/merge-patch+json", b"{}"),
    "commitTransaction": ("application/json", b'{"then":[]}'),
    "importProperties": ("application/x-ndjson", b'{"name":"n","value":1}\n'),
    "switchStrategy": ("application/json", b'{"strategy":"lock"}'),
    "submitOperations": ("application/json", b'{"steps":[{"wait":0}]}'),
}
QUERIES = {
    "deleteProperties": "?prefix=n",
    "importProperties": "?partial=true",
    "popProperty": "?prefix=n",
    "touchProperty": "?ttl=60",
}
# For the head of an answer; bodies of streams are not read.
ANSWER_SECONDS_MAX = 120


def operations():
    """Each operation: its id, method, path, and the rights that it needs; None without a token."""
    contract = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))
    for path, item in contract["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation = item[method]
            name, security = operation["operationId"], operation["security"]
            rights = None if security == [] or {} in security else set(security[0]["token"])
            yield name, method.upper(), path, rights


def ask(url, name, method, path, token=None):
    """The status, the header fields, the body of an error, and violations of HTTP."""
    target = path.replace("{name}", "n").replace("{id}", "none").replace("{problem}", "gone")
    kind, body = BODIES.get(name, (None, None))
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if kind:
        headers["Content-Type"] = kind
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(
        parts.hostname, parts.port, timeout=ANSWER_SECONDS_MAX)
    try:
        target += QUERIES.get(name, "")
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        body = answer.read() if answer.status >= 400 else None
        wrong = lint.mistakes((method, target, headers.items()),
                              (answer.status, answer.getheaders(), body))
        return answer.status, answer.headers, body, wrong
    finally:
        connection.close()


def mistakes(url, tokens, listed):
    """The answers that differ from the list of operations."""
    for name, method, path, needed in listed:
        place = f"{method} {path}"
        for label, token in [("no token", None), ("a wrong token", "lk_" + "0" * 72)]:
            status, headers, _, wrong = ask(url, name, method, path, token)
            yield from wrong
            is_open = needed is None
            if name in ("getMetrics", "getVersion"):
                is_open = False
            if (status == 401) == is_open:
                yield f"{place} with {label}: {status}"
            if status == 401 and not headers.get("WWW-Authenticate", "").startswith("Bearer"):
                yield f"{place} with {label}: no WWW-Authenticate"
        for rights, token in tokens.items():
            status, headers, body, wrong = ask(url, name, method, path, token)
            yield from wrong
            held = set(rights.split(","))
            missing = (needed or set()) - held
            if (status == 403) != bool(missing) or status == 401:
                yield f"{place} with {rights}: {status}, and {missing or 'nothing'} is missing"
            if status == 403 and method != "HEAD" \
                    and not any(f"the right {right}".encode() in body for right in missing):
                yield f"{place} with {rights}: the answer does not name {missing}"
            if status == 403 and "insufficient_scope" not in headers.get("WWW-Authenticate", ""):
                yield f"{place} with {rights}: no WWW-Authenticate"


def pairs():
    """Each right alone, all pairs, and all together."""
    for count in (1, 2, len(RIGHTS)):
        for rights in itertools.combinations(RIGHTS, count):
            yield ",".join(rights)


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(pairs()))
        return 0
    url, tokens = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text())
    found = list(mistakes(url, tokens, operations()))
    planted = {
        "a right that is not asked for": ("getContention", "GET", "/v1/contention", {"admin"}),
        "a right too many": ("resetContention", "POST", "/v1/contention/reset", set()),
        "a route that is closed": ("getContention", "GET", "/v1/contention", None),
        "a route that is open": ("getHealth", "GET", "/healthz", set()),
    }
    found += [f"{name} is overlooked" for name, operation in planted.items()
              if not list(mistakes(url, tokens, [operation]))]
    found += lint.missed()
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
