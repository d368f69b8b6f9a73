"""Calls a running service with the Python client that openapi-generator made from openapi.yaml.

    PYTHONPATH=FOLDER calls.py URL

The folder has the package `latchkey_client`. Every kind of answer is checked: a value, a model, an
empty one, a problem, text, lines, headers.
"""

import json
import sys

from latchkey_client import (
    ApiClient, ApiException, Configuration, OperatingApi, OperationsApi, PropertiesApi,
    StrategiesApi)
from latchkey_client.models import (
    CountStep, DeletePrefixStep, DeleteStep, GetStep, Increment, IncrementStep, OperationPutStep,
    OperationRequest, OperationStep, PutStep, SubmitOperationsRequest, Transaction,
    TransactionCondition, TransactionStep)

# A name that a client must encode, and in which a path would swallow characters.
NAME = "generated/a b?#%ü"


def main():
    with ApiClient(Configuration(host=sys.argv[1])) as client:
        properties(PropertiesApi(client))
        conditions(PropertiesApi(client))
        several(PropertiesApi(client))
        tests(PropertiesApi(client))
        queues(PropertiesApi(client))
        transfers(PropertiesApi(client))
        operations(OperationsApi(client))
        operating(OperatingApi(client), StrategiesApi(client))
    return 0


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def refused(call, *arguments, **more):
    """The status and the problem's type of a call whose status is not 2xx."""
    try:
        answer = call(*arguments, **more)
    except ApiException as failure:
        return failure.status, json.loads(failure.body)["type"] if failure.body else None
    raise AssertionError(f"not refused, but {answer!r}")


def steps(*made):
    return [TransactionStep(step) for step in made]


def properties(api):
    value = {"per": "minute", "max": 50}
    expect(api.put_property_with_http_info(NAME, value).status_code, 201)
    expect(api.get_property(NAME), value)
    answer = api.patch_property_with_http_info(NAME, {"max": 60}, ttl=100)
    expect(answer.data, {"per": "minute", "max": 60})
    head = api.head_property_with_http_info(NAME)
    expect((head.status_code, head.headers["ETag"]), (200, answer.headers["ETag"]))
    expect(api.increment_property("generated/n", increment=Increment(by=5)), 5)
    expect(refused(api.get_property, "generated/none"), (404, "/problems/not-found"))
    expect(api.delete_property_with_http_info("generated/n").status_code, 204)


def conditions(api):
    first = api.put_property_with_http_info("generated/c", 1, if_none_match="*")
    expect(first.status_code, 201)
    tag = first.headers["ETag"]
    expect(refused(api.put_property, "generated/c", 2, if_none_match="*"),
           (412, "/problems/precondition-failed"))
    expect(refused(api.get_property, "generated/c", if_none_match=tag), (304, None))
    replaced = api.put_property_with_http_info(
        "generated/c", 2, if_match=f'"1", {tag}', idempotency_key="generated")
    expect(replaced.status_code, 204)
    expect(refused(api.delete_property, "generated/c", if_match=tag)[0], 412)
    expect(api.delete_property_with_http_info("generated/c", if_match="*").status_code, 204)


def several(api):
    result = api.commit_transaction(Transaction(
        var_if=[TransactionCondition(name="generated/t", absent=True)],
        then=steps(PutStep(put="generated/t", value=7), IncrementStep(increment="generated/t"),
                   GetStep(get="generated/t"))))
    expect((result.succeeded, [item.name for item in result.results]), (True, ["generated/t"] * 3))
    expect(result.results[2].value, 8)
    page = api.list_properties(prefix="generated/", limit=1)
    expect([(item.name, item.value) for item in page.properties],
           [(NAME, {"per": "minute", "max": 60})])
    rest = api.list_properties(prefix="generated/", after=page.next)
    expect([item.name for item in rest.properties], ["generated/t"])
    changes = api.list_changes(after=result.revision - 1, prefix="generated/")
    expect(changes.changes[0].revision, result.revision)


def tests(api):
    """Tests whose names no language allows, and a null in each place that takes one."""
    put = steps(PutStep(put="generated/null", value=None, ttl_if_new=60))
    expect(api.commit_transaction(Transaction(then=put)).succeeded, True)
    null = TransactionCondition(name="generated/null", equals=None)
    others = [TransactionCondition(name="generated/t", additional_properties=test)
              for test in ({"<": 9}, {"exists": True}, {"!=": 8})]
    for condition, holds in zip([null, *others], (True, True, True, False)):
        result = api.commit_transaction(Transaction(
            var_if=[condition], then=steps(GetStep(get="generated/null"))))
        expect(result.succeeded, holds)
    expect(api.delete_property_with_http_info("generated/null").status_code, 204)


def queues(api):
    api.increment_property("generated/q/1", increment=Increment(by=1), ttl_if_new=100)
    expect(api.touch_property_with_http_info(200, "generated/q/1").status_code, 204)
    expect(api.count_properties(prefix="generated/q/").count, 1)
    # Without a body: the claim has the value null.
    taken = api.pop_property("generated/q/", claim="generated/c/", ttl=30, wait=1)
    expect((taken.result.name, taken.result.value), ("generated/q/1", 1))
    expect(refused(api.pop_property, "generated/q/", claim="generated/c/", ttl=30),
           (404, "/problems/not-found"))
    names = ["generated/c/1", "generated/none", "generated/q/1"]
    found = api.list_properties(name=names).properties
    expect([(item.name, item.value) for item in found],
           [("generated/c/1", None), ("generated/q/1", 1)])
    claim = TransactionCondition(name="generated/c/1", revision=taken.revision)
    result = api.commit_transaction(wait=1, transaction=Transaction(var_if=[claim], then=steps(
        DeleteStep(delete="generated/q/1"), DeletePrefixStep(delete_prefix="generated/c/"),
        CountStep(count="generated/q"),
        PutStep(put="generated/q/2", value=2, ttl_if_new=5))))
    expect((result.succeeded, result.results[2].count), (True, 0))
    deleted = api.delete_properties("generated/q")
    expect((deleted.count, deleted.more), (1, False))


def transfers(api):
    lines = bytes(api.export_properties(prefix="generated/"))
    expect(json.loads(lines.split(b"\n")[0])["name"], NAME)
    expect(api.import_properties(body=lines).imported, 2)
    expect(refused(api.import_properties, body=b"[]\n")[0], 400)


def operations(api):
    made = [OperationStep(OperationPutStep(put="generated/o", value=1)),
            OperationStep(IncrementStep(increment="generated/o"))]
    request = OperationRequest(id="generated", after=600, steps=made)
    accepted = api.submit_operations_with_http_info(SubmitOperationsRequest(request))
    expect((accepted.status_code, accepted.headers["Location"]),
           (202, "/v1/operations/generated"))
    expect(api.get_operation("generated").state, "pending")
    names = [operation.id for operation in api.list_operations().operations]
    expect("generated" in names, True)
    expect(api.cancel_operation_with_http_info("generated").status_code, 202)


def operating(api, strategies):
    expect(api.get_health().status, "ok")
    expect(api.get_readiness().status, "ready")
    expect("latchkey_store_properties" in api.get_metrics(), True)
    expect(b"operationId" in api.get_contract_without_preload_content().data, True)
    expect(len(strategies.list_strategies().strategies) > 10, True)
    expect(any(row.role == "serving" for row in strategies.get_contention().rows), True)


if __name__ == "__main__":
    sys.exit(main())
