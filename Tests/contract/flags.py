"""OpenFeature's own client reads flags from the service at the address in the argument."""

import sys

import httpx
from openfeature import api
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode

FLAGS = {"on": "true", "text": '"red"', "number": "7", "share": "0.5", "object": '{"a": [1]}'}


def main(url):
    for key, value in FLAGS.items():
        put(url, key, value)
    api.set_provider(OFREPProvider(url))
    client = api.get_client()
    context = EvaluationContext(targeting_key="ada", attributes={"plan": "pro"})
    found = [
        client.get_boolean_value("on", False, context), client.get_string_value("text", ""),
        client.get_integer_value("number", 0), client.get_float_value("share", 0.0),
        client.get_object_value("object", {}),
    ]
    check("the values", found, [True, "red", 7, 0.5, {"a": [1]}])
    missing = client.get_boolean_details("none", True, context)
    check("a missing flag", (missing.value, missing.error_code), (True, ErrorCode.FLAG_NOT_FOUND))
    wrong = client.get_boolean_details("text", True, context)
    check("a flag of another type", wrong.error_code, ErrorCode.TYPE_MISMATCH)
    put(url, "on", "false")
    check("a change", client.get_boolean_value("on", True, context), False)
    check_all(url)


def put(url, key, value):
    httpx.put(f"{url}/v1/properties/flags%2F{key}", content=value,
              headers={"Content-Type": "application/json"}).raise_for_status()


def check_all(url):
    """The evaluation of all flags, in the form of SDKs for browsers."""
    path = f"{url}/ofrep/v1/evaluate/flags"
    whole = httpx.post(path, json={"context": {}})
    keys = [flag["key"] for flag in whole.raise_for_status().json()["flags"]]
    # The page has an example flag of its own.
    check("all flags", [key for key in keys if key in FLAGS], sorted(FLAGS))
    tag = {"If-None-Match": whole.headers["etag"]}
    check("without a change", httpx.post(path, json={}, headers=tag).status_code, 304)
    weak = {"If-None-Match": f'"1-1", W/{whole.headers["etag"]}'}
    check("behind a proxy", httpx.post(path, json={}, headers=weak).status_code, 304)
    httpx.delete(f"{url}/v1/properties/flags%2Fon").raise_for_status()
    check("after a deletion", httpx.post(path, json={}, headers=tag).status_code, 200)
    put(url, "list", "[]")
    check("no flag", httpx.post(f"{path}/list", json={}).json()["errorCode"], "GENERAL")
    keys = [flag["key"] for flag in httpx.post(path, json={}).json()["flags"]]
    check("a list is no flag", "list" in keys, False)
    for number in range(5):
        put(url, f"long{number}", f'"{"x" * 1_000_000}"')
    answer = httpx.post(path, json={})
    check("4 MiB", (answer.status_code, answer.json()["errorCode"]), (400, "GENERAL"))
    for body, code in (b"{", "PARSE_ERROR"), (b'{"context": 5}', "INVALID_CONTEXT"):
        answer = httpx.post(path, content=body, headers={"Content-Type": "application/json"})
        check(code, (answer.status_code, answer.json()["errorCode"]), (400, code))


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, not {expected!r}")


main(sys.argv[1])
