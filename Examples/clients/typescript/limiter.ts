// At most 5 calls of a user in a minute, however many programs count them.
//
//     export LATCHKEY_URL=http://127.0.0.1:8080
//     node limiter.js ada 10 60    # tries 10 calls of ada; 5 are allowed in 60 seconds

import { Latchkey, LatchkeyError } from "latchkey";
import { url, words } from "./settings.js";

const client = new Latchkey(url);

async function mayCall(user: string, seconds: number, limit = 5): Promise<boolean> {
  try {
    // The first call creates the counter, which expires by itself.
    return await client.increment(`calls/${user}`, 1, { ttlIfNew: seconds }) <= limit;
  } catch (error) {
    if (!(error instanceof LatchkeyError)) throw error;
    // The service does not answer. Here, a limit that is kept matters more than a call.
    return false;
  }
}

const [user = "ada", count = "10", seconds = "60"] = words;
for (let number = 0; number < Number(count); number += 1) {
  console.log(await mayCall(user, Number(seconds)) ? "allowed" : "refused");
}
