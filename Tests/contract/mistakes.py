"""Wrong requests and command lines: the answer names the mistake and a way out.

Each line is the request or command, the status, and parts of the answer, in their order: of the
title and the detail of a problem, or of the command's message. `$L` is the address of the service,
`$P` its port.
"""

import json
import re
import shlex
import subprocess

COMMAND_SECONDS_MAX = 60

REQUESTS = [
    # The two most common mistakes.
    ("--json 5 $L/v1/properties/a", 405, "PUT creates or replaces", "curl -X PUT", "increment"),
    ("-X PUT --json secret $L/v1/properties/a", 400, 'A text needs quotes: "hello"'),
    # Bodies.
    ("-X PUT --json '' $L/v1/properties/a", 400, "The body is empty", "one JSON value"),
    ("-X PUT --json 'two words' $L/v1/properties/a", 400, 'needs quotes: "hello"'),
    ("-X PUT --json \"'hello'\" $L/v1/properties/a", 400, "double quotes"),
    ("-X PUT --json '{a: 1}' $L/v1/properties/a", 400, "after 2 bytes", "names have double quotes"),
    ("-X PUT --json '{\"a\": 1, b: 2}' $L/v1/properties/a", 400, "names have double quotes"),
    ("-X PUT --json '{\"a\": 1,}' $L/v1/properties/a", 400, "not valid after 9 bytes."),
    ("-X PUT --json '[1, 2' $L/v1/properties/a", 400, "not valid after"),
    ("-X PUT -H 'Content-Type: text/plain' -d 5 $L/v1/properties/a", 415, "application/json"),
    ("-X PUT -d a=1 $L/v1/properties/a", 415, "form", "--json in place of -d"),
    ("-X PUT --json 5 $L/v1/properties/%ff", 400, "not UTF-8"),
    # Paths and methods.
    ("$L/v1/properties/nope", 404, "`nope`", "PUT"),
    ("-X DELETE $L/v1/properties/nope", 404, "`nope`"),
    ("-X PATCH --json '{}' $L/v1/properties/nope -H 'If-Match: *'", 412, "`nope`"),
    ("$L/v1/properties/seen?revision=1", 410, "not in the history", "--history-bytes"),
    ("$L/v1/property/a", 404, "openapi.yaml"),
    ("$L/v1/properties/a/b", 404, "%2F", "/v1/properties/a%2Fb"),
    ("-X POST $L/v1/properties/a/b/increment", 404, "a%2Fb/increment"),
    ("-X DELETE $L/v1/properties", 400, "Give prefix"),
    ("-X PUT --json 5 $L/v1/transactions", 405, "POST"),
    ("-X PUT --json 5 $L/v1/properties/seen -H 'If-Match: \"1\"'", 412, "`seen`", "ETag"),
    ("-X PUT --json 5 $L/v1/properties/seen -H 'If-Match: 1'", 400, "quoted", '"7"'),
    ("-X POST $L/v1/properties/text/increment", 409, "`text`", "PUT"),
    # Parameters.
    ("-X PUT --json 5 '$L/v1/properties/a?tll=5'", 400, "`tll` is not known here; `ttl` is."),
    ("-X PUT --json 5 '$L/v1/properties/a?ttl=soon'", 400, "ttl", "seconds"),
    ("-X PUT --json 5 '$L/v1/properties/a?ttl=1&ttl=2'", 400, "ttl is given twice"),
    ("-X PUT --json 5 '$L/v1/properties/a?ttl=1&ttl-if-new=2'", 400, "not both"),
    ("'$L/v1/properties?prefx=a'", 400, "`prefx` is not known here; `prefix` is."),
    ("'$L/v1/properties?limit=0'", 400, "limit", "from 1 to"),
    ("'$L/v1/properties?pretty=1'", 400, "`pretty` is not known here", "`prefix`"),
    ("'$L/v1/watch?form=5'", 400, "`form` is not known here", "`after`"),
    ("-X POST $L/v1/pop", 400, "prefix"),
    ("--json '{}' '$L/ofrep/v1/evaluate/flags?consistncy=local'", 400, "`consistency` is."),
    ("'$L/v1/watch?match=a'", 400, "match needs a *"),
    ("'$L/v1/watch?match=*%07'", 400, "control character"),
    # Members of bodies.
    ("--json '{\"amount\": 5}' $L/v1/properties/n/increment", 400, "`amount`", "`by` is"),
    ("--json '{\"by\": 1.5}' $L/v1/properties/n/increment", 400, "by must be", "integer"),
    ("--json 5 $L/v1/properties/n/increment", 400, '{"by": 5}'),
    ("--json '{\"then\": [{\"putt\": \"a\"}]}' $L/v1/transactions", 400,
     "Item 1 of then", "`putt` is not known here; `put` is."),
    ("--json '{\"them\": []}' $L/v1/transactions", 400, "`them` is not known here; `then` is."),
    ("--json '{\"if\": [{\"name\": \"a\", \"equal\": 1}]}' $L/v1/transactions", 400,
     "Item 1 of if", "`equal` is not known here; `equals` is."),
    ("--json '{\"then\": [{\"put\": \"a\"}]}' $L/v1/transactions", 400, "put needs a value"),
    ("--json '{\"steps\": [{\"sleep\": 5}]}' $L/v1/operations", 400, "Item 1 of steps",
     "`sleep` is not known here", "`wait`", "`fetch`", "`transaction`", "`import`", "`compare`"),
    ("--json '{\"steps\": [{\"pop\": \"a\"}]}' $L/v1/operations", 400, "in a transaction"),
    ("--json '{\"step\": []}' $L/v1/operations", 400, "`step` is not known here; `steps` is."),
    ("--json '{\"steps\": [{\"fetch\": \"http://one.example/\"}]}' $L/v1/operations", 422,
     "--allow-fetch"),
    ("-X PUT --json '{\"strategy\": \"adaptve\"}' $L/v1/strategy", 400,
     "`adaptve` is not known here; `adaptive` is."),
    ("-X PUT --json 5 $L/v1/properties/a -H 'Idempotency-Key: a b'", 400, "Idempotency-Key"),
    ("--json 5 $L/v1/properties/a -H 'Host: one.example' -X PUT", 421, "--allowed-host"),
]

COMMANDS = [
    ("get nope --url $L", 3, "`nope`"),
    ("gett nope --url $L", 2, "Did you mean 'get'?"),
    ("get nope --ulr $L", 2, "Did you mean '--url'?"),
    ("get --url $L", 2, "needs a name"),
    ("get seen nope --url $L", 3, "nope"),
    ("get a --url http://127.0.0.1:1 --patience-seconds 0", 1, "http://127.0.0.1:1", "--url"),
    ("get a --url ftp://one.example", 2, "--url", "http://127.0.0.1:8080"),
    ("get a --url https://127.0.0.1:$P --patience-seconds 1", 1, "does not speak TLS", "http://"),
    ("get a --url $L --token-from /nowhere", 2, "--token-from", "/nowhere", "token create"),
    ("get a --url $L --ca /nowhere", 2, "--ca", "/nowhere"),
    ("get a --url $L --key /nowhere", 2, "--cert"),
    ("put a hello --url $L", 2, "JSON", '"hello"'),
    ("put a --url $L --ttl soon", 2, "--ttl", "seconds"),
    ("serve --port 99999", 2, "--port", "65535"),
    ("serve --strategy adaptve", 2, "Did you mean 'adaptive'?"),
    ("serve --data /dev/null/x --port 0", 1, "/dev/null/x", "Not a directory"),
    ("serve --token-file /nowhere --port 0", 1, "--token-file", "/nowhere", "token create"),
    ("serve --tls-certificate /nowhere --tls-key /nowhere --port 0", 1, "/nowhere"),
    ("compare --strategies lok", 2, "Did you mean 'lock'?"),
    ("compare --from /nowhere", 2, "/nowhere"),
    ("compare --duration soon", 2, "--duration", "ms"),
    ("switch hope --url $L", 2, "lock", "not 'hope'"),
]


def wrong_requests(url):
    """The differences, as sentences."""
    for name, value in ("seen", "5"), ("text", '"a"'):
        subprocess.run(["curl", "-sX", "PUT", f"{url}/v1/properties/{name}", "--json", value],
                       check=True, timeout=COMMAND_SECONDS_MAX, stdout=subprocess.DEVNULL)
    for request, status, *parts in REQUESTS:
        words = shlex.split(request.replace("$L", url))
        done = subprocess.run(["curl", "-sS", "-w", "\n%{http_code}", *words], text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, check=False,
                              timeout=COMMAND_SECONDS_MAX)
        body, _, code = done.stdout.rpartition("\n")
        problem = json.loads(body)
        text = f"{problem['title']} {problem['detail']}"
        yield from differences(f"curl {request}", code, text, status, parts)


def wrong_commands(binary, url):
    """The same for command lines."""
    for command, status, *parts in COMMANDS:
        port = re.search(r":(\d+)$", url)[1]
        words = shlex.split(command.replace("$L", url).replace("$P", port))
        done = subprocess.run([binary, *words], text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=COMMAND_SECONDS_MAX)
        yield from differences(f"latchkey {command}", done.returncode, done.stderr, status, parts)


def differences(sent, code, text, status, parts):
    if str(code) != str(status):
        yield f"{sent}\n  has status {code}, not {status}: {text}"
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            yield f"{sent}\n  does not say {part!r}: {text}"
            return
