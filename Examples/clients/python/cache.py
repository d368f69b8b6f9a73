"""A cache: an expensive value is computed once, until it expires.

    export LATCHKEY_URL=http://127.0.0.1:8080
    python3 cache.py a b a          # computes a and b, and finds a

Let the service remove the least used values: `latchkey serve --eviction lru --max-bytes 1GiB`,
and then give the locks a service of their own.
"""

import os
import sys

from latchkey import Latchkey

client = Latchkey(os.environ["LATCHKEY_URL"])


def cached(key, seconds, compute):
    name = f"cache/{key}"
    if (found := client.find(name)) is None:
        # Others wait here, and find it then.
        with client.lock(f"computing/{key}", ttl=5):
            if (found := client.find(name)) is None:
                value = compute()
                client.put(name, value, ttl=seconds)
                return value
    return found.value


def length(key):
    print("computed", key, flush=True)
    return len(key)


for key in sys.argv[1:]:
    print("has", key, cached(key, 3, lambda key=key: length(key)), flush=True)
client.close()
