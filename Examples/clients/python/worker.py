"""A queue of jobs. A worker that dies loses none: another one gets its job.

    export LATCHKEY_URL=http://127.0.0.1:8080
    python3 worker.py add hello      # a job
    python3 worker.py work           # a worker; start several
    python3 worker.py work 5         # one that takes 5 seconds for each job

A job is done at least once. The changes that `handle` returns are made once, when the job ends.
"""

import os
import sys
import time
import uuid

from latchkey import Latchkey

what, text = [*sys.argv[1:], "0"][:2]


def handle(claim):
    print(f"begins {claim.value}", flush=True)
    time.sleep(float(text))
    print(f"ends {claim.value}", flush=True)
    return [{"increment": f"sent/{claim.value}"}]


with Latchkey(os.environ["LATCHKEY_URL"]) as client:
    if what == "add":
        # The order of names is the order of jobs.
        client.put(f"jobs/{time.time_ns()} {uuid.uuid4().hex[:8]}", text, if_absent=True)
    else:
        client.work("jobs/", handle, claims="claims/", ttl=2)
