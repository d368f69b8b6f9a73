"""Rules that openapi.yaml states in text, because a JSON schema cannot express them."""

import re
import uuid

import schemathesis

NAME_BYTES_MAX = 256
WAIT = re.compile(r"[0-9]+(\.[0-9]+)?(e-[0-9]+)?")
WAIT_SECONDS_MAX = 60
REVISION = re.compile("[0-9]{1,19}")
KEY = re.compile("[!-~]{1,255}")


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """A name is bounded in bytes; a schema counts characters.

    A longer name is refused, so it is not an example of a valid request. The names "." and ".." are
    left out, because clients resolve them before they send a request.
    """
    name = (path_parameters or {}).get("name")
    if not isinstance(name, str):
        return True
    return len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES_MAX and name not in (".", "..")


@schemathesis.hook
def before_call(context, case, kwargs):
    """A key is for one request, which a schema cannot say: each valid key is made a new one.

    Otherwise a request would be answered with the answer to an earlier one. Nor can a schema say
    which parameters stand alone: `wait` needs `after`, and `revision` stands without both. A long
    poll is made short, and its time is spelled without an exponent.
    """
    query = case.query or {}
    wait = str(query.get("wait"))
    if WAIT.fullmatch(wait) and float(wait) <= WAIT_SECONDS_MAX:
        query["wait"] = 0
        if "after" not in query:
            del query["wait"]
    if REVISION.fullmatch(str(query.get("revision"))):
        query.pop("after", None)
        query.pop("wait", None)
    for name, key in list((case.headers or {}).items()):
        if name.lower() == "idempotency-key" and KEY.fullmatch(str(key)):
            case.headers[name] = str(uuid.uuid4())
