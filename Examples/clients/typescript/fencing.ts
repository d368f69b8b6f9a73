// A lock whose holder can be stopped for an hour, and then does no harm.
//
//     export LATCHKEY_URL=http://127.0.0.1:8080
//     node fencing.js              # start two; stop the first one with SIGSTOP, and continue it
//
// Each write has the fencing token of its holder as a condition. A holder that does not know yet
// that its time is over is refused. Give `latchkey serve` a folder (`--data`), or it forgets who
// holds the lock when it is restarted.

import { Latchkey, LeaseLost } from "latchkey";
import { sleep, url } from "./settings.js";

const client = new Latchkey(url);
try {
  await client.lock("locks/report", { ttl: 2 }, async lease => {
    for (;;) {
      const outcome = await client.transaction({
        if: [lease.guard], then: [{ put: "report", value: { token: lease.token } }],
      });
      if (!outcome.succeeded) return console.log(`refused ${lease.token}`);
      console.log(`wrote ${lease.token}`);
      await sleep(0.1);
    }
  });
} catch (error) {
  if (!(error instanceof LeaseLost)) throw error;
  console.log("lost");
}
