"""A lock whose holder can be stopped for an hour, and then does no harm.

    export LATCHKEY_URL=http://127.0.0.1:8080
    python3 fencing.py              # start two; stop the first one with SIGSTOP, and continue it

Each write has the fencing token of its holder as a condition. A holder that does not know yet that
its time is over is refused. Give `latchkey serve` a folder (`--data`), or it forgets who holds the
lock when it is restarted.
"""

import os
import time

from latchkey import Latchkey, LeaseLost

with Latchkey(os.environ["LATCHKEY_URL"]) as client:
    try:
        with client.lock("locks/report", ttl=2) as lease:
            while True:
                outcome = client.transaction(
                    [{"put": "report", "value": {"token": lease.token}}], when=[lease.guard])
                if not outcome.succeeded:
                    print(f"refused {lease.token}", flush=True)
                    break
                print(f"wrote {lease.token}", flush=True)
                time.sleep(0.1)
    except LeaseLost:
        print("lost", flush=True)
