"""Calls a running service with the client that was generated from openapi.yaml.

    PYTHONPATH=FOLDER calls.py URL

The folder has the package `latchkey_client`. Every kind of answer is checked: a value, a model,
none, a problem, text, lines, headers.
"""

import io
import json
import sys

import httpx
from latchkey_client import Client
from latchkey_client.api.operating import get_contract, get_health, get_metrics, get_readiness
from latchkey_client.api.operations import (
    cancel_operation, get_operation, list_operations, submit_operations)
from latchkey_client.api.properties import (
    commit_transaction, count_properties, delete_properties, delete_property, export_properties,
    get_property, head_property, import_properties, increment_property, list_changes,
    list_properties, patch_property, pop_property, put_property, touch_property)
from latchkey_client.api.strategies import get_contention, list_strategies
from latchkey_client.models import Increment, OperationRequest, Problem, Transaction
from latchkey_client.types import File

# One that a client must encode, and one that a path would swallow.
NAME = "generated/a b?#%ü"


def main():
    # A status that the description does not have is an error.
    client = Client(sys.argv[1], raise_on_unexpected_status=True, timeout=httpx.Timeout(120))
    with client:
        properties(client)
        conditions(client)
        several(client)
        queues(client)
        transfers(client)
        operations(client)
        operating(client)
    return 0


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def properties(client):
    value = {"per": "minute", "max": 50}
    expect(put_property.sync_detailed(NAME, client=client, body=value).status_code, 201)
    expect(json.loads(get_property.sync_detailed(NAME, client=client).content), value)
    expect(get_property.sync(NAME, client=client), value)
    answer = patch_property.sync_detailed(NAME, client=client, body={"max": 60}, ttl=100)
    expect(json.loads(answer.content), {"per": "minute", "max": 60})
    head = head_property.sync_detailed(NAME, client=client)
    expect((head.status_code, head.headers["ETag"]), (200, answer.headers["ETag"]))
    count = increment_property.sync_detailed("generated/n", client=client, body=Increment(by=5))
    expect(json.loads(count.content), 5)
    missing = get_property.sync("generated/none", client=client)
    expect((type(missing), missing.status), (Problem, 404))
    expect(delete_property.sync_detailed("generated/n", client=client).status_code, 204)


def conditions(client):
    first = put_property.sync_detailed("generated/c", client=client, body=1, if_none_match="*")
    expect(first.status_code, 201)
    tag = first.headers["ETag"]
    again = put_property.sync_detailed("generated/c", client=client, body=2, if_none_match="*")
    expect((again.status_code, again.parsed.type_), (412, "/problems/precondition-failed"))
    same = get_property.sync_detailed("generated/c", client=client, if_none_match=tag)
    expect(same.status_code, 304)
    replaced = put_property.sync_detailed(
        "generated/c", client=client, body=2, if_match=f'"1", {tag}', idempotency_key="generated")
    expect(replaced.status_code, 204)
    gone = delete_property.sync_detailed("generated/c", client=client, if_match=tag)
    expect(gone.status_code, 412)
    expect(delete_property.sync_detailed("generated/c", client=client, if_match="*").status_code,
           204)


def several(client):
    transaction = Transaction.from_dict({
        "if": [{"name": "generated/t", "exists": False}],
        "then": [{"put": "generated/t", "value": 7}, {"increment": "generated/t"},
                 {"get": "generated/t"}]})
    result = commit_transaction.sync(client=client, body=transaction)
    expect((result.succeeded, [item.name for item in result.results]), (True, ["generated/t"] * 3))
    expect(result.results[2].value, 8)
    page = list_properties.sync(client=client, prefix="generated/", limit=1)
    expect([(item.name, item.value) for item in page.properties],
           [(NAME, {"per": "minute", "max": 60})])
    rest = list_properties.sync(client=client, prefix="generated/", after=page.next_)
    expect([item.name for item in rest.properties], ["generated/t"])
    changes = list_changes.sync(client=client, after=result.revision - 1, prefix="generated/")
    expect(changes.changes[0].revision, result.revision)


def queues(client):
    increment_property.sync(
        "generated/q/1", client=client, body=Increment(by=1), ttl_if_new=100)
    touched = touch_property.sync_detailed("generated/q/1", client=client, ttl=200)
    expect(touched.status_code, 204)
    expect(count_properties.sync(client=client, prefix="generated/q/").count, 1)
    # Without a body: the claim has the value null.
    taken = pop_property.sync(
        client=client, prefix="generated/q/", claim="generated/c/", ttl=30, wait=1)
    expect((taken.result.name, taken.result.value), ("generated/q/1", 1))
    none = pop_property.sync(client=client, prefix="generated/q/", claim="generated/c/", ttl=30)
    expect(none.type_, "/problems/not-found")
    names = ["generated/c/1", "generated/none", "generated/q/1"]
    found = list_properties.sync(client=client, name=names).properties
    expect([(item.name, item.value) for item in found],
           [("generated/c/1", None), ("generated/q/1", 1)])
    claim = {"name": "generated/c/1", "revision": taken.revision}
    finish = Transaction.from_dict({"if": [claim], "then": [
        {"delete": "generated/q/1"}, {"delete-prefix": "generated/c/"}, {"count": "generated/q"},
        {"put": "generated/q/2", "value": 2, "ttl-if-new": 5}]})
    result = commit_transaction.sync(client=client, body=finish, wait=1)
    expect((result.succeeded, result.results[2].count), (True, 0))
    deleted = delete_properties.sync(client=client, prefix="generated/q")
    expect((deleted.count, deleted.more), (1, False))


def transfers(client):
    lines = export_properties.sync_detailed(client=client, prefix="generated/")
    expect(json.loads(lines.content.split(b"\n")[0])["name"], NAME)
    result = import_properties.sync(client=client, body=File(io.BytesIO(lines.content)))
    expect(result.imported, 2)
    bad = import_properties.sync(client=client, body=File(io.BytesIO(b"[]\n")))
    expect((bad.status, bad.line, bad.imported), (400, 1, 0))


def operations(client):
    request = OperationRequest.from_dict({
        "id": "generated", "after": 600,
        "steps": [{"put": "generated/o", "value": 1}, {"increment": "generated/o"}]})
    expect(submit_operations.sync(client=client, body=request).id, "generated")
    expect(get_operation.sync("generated", client=client).state, "pending")
    names = [operation.id for operation in list_operations.sync(client=client).operations]
    expect("generated" in names, True)
    expect(cancel_operation.sync_detailed("generated", client=client).status_code, 202)


def operating(client):
    expect(get_health.sync(client=client).status, "ok")
    expect(get_readiness.sync(client=client).status, "ready")
    expect("latchkey_store_properties" in get_metrics.sync(client=client), True)
    expect(b"operationId" in get_contract.sync_detailed(client=client).content, True)
    expect(len(list_strategies.sync(client=client).strategies) > 10, True)
    rows = get_contention.sync(client=client).rows
    expect(any(row.role == "serving" for row in rows), True)


if __name__ == "__main__":
    sys.exit(main())
