"""Several programs, of which one leads. If it dies, another one goes on.

    export LATCHKEY_URL=http://127.0.0.1:8080
    python3 election.py ada         # start several, with different names

Give `latchkey serve` a folder (`--data`), or it forgets who leads when it is restarted.
"""

import os
import sys
import time

from latchkey import Latchkey, LeaseLost

me = sys.argv[1]
with Latchkey(os.environ["LATCHKEY_URL"]) as client:
    while True:
        try:
            with client.election("leader", me, ttl=2) as term:
                print(f"leads {term.token}", flush=True)
                while not term.lost.is_set():
                    # It is made only if this program still leads.
                    client.transaction([{"put": "report", "value": me}], when=[term.guard])
                    time.sleep(0.1)
        except LeaseLost:
            print("lost", flush=True)
