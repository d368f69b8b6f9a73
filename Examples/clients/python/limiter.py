"""At most 5 calls of a user in a minute, however many programs count them.

    export LATCHKEY_URL=http://127.0.0.1:8080
    python3 limiter.py ada 10 60    # tries 10 calls of ada; 5 are allowed in 60 seconds
"""

import os
import sys

from latchkey import Latchkey, LatchkeyError

client = Latchkey(os.environ["LATCHKEY_URL"])


def may_call(user, seconds, limit=5):
    try:
        # The first call creates the counter, which expires by itself.
        return client.increment(f"calls/{user}", ttl_if_new=seconds) <= limit
    except LatchkeyError:
        # The service does not answer. Here, a limit that is kept matters more than a call.
        return False


user, count, seconds = sys.argv[1:]
for _ in range(int(count)):
    print("allowed" if may_call(user, float(seconds)) else "refused", flush=True)
client.close()
