// A cache: an expensive value is computed once, until it expires.
//
//     export LATCHKEY_URL=http://127.0.0.1:8080
//     node cache.js a b a          # computes a and b, and finds a
//
// Let the service remove the least used values: `latchkey serve --eviction lru --max-bytes 1GiB`,
// and then give the locks a service of their own.

import { Latchkey } from "latchkey";
import { url, words } from "./settings.js";

const client = new Latchkey(url);

async function cached<Value>(key: string, seconds: number, compute: () => Value): Promise<Value> {
  const name = `cache/${key}`;
  const found = await client.find<Value>(name);
  if (found) return found.value;
  // Others wait here, and find it then.
  return client.lock(`computing/${key}`, { ttl: 5 }, async () => {
    const again = await client.find<Value>(name);
    if (again) return again.value;
    const value = compute();
    await client.put(name, value, { ttl: seconds });
    return value;
  });
}

function length(key: string): number {
  console.log("computed", key);
  return key.length;
}

for (const key of words) console.log("has", key, await cached(key, 3, () => length(key)));
