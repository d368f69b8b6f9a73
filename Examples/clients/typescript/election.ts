// Several programs, of which one leads. If it dies, another one goes on.
//
//     export LATCHKEY_URL=http://127.0.0.1:8080
//     node election.js ada         # start several, with different names
//
// Give `latchkey serve` a folder (`--data`), or it forgets who leads when it is restarted.

import { Latchkey, LeaseLost } from "latchkey";
import { sleep, url, words } from "./settings.js";

const [me = "ada"] = words;
const client = new Latchkey(url);
for (;;) {
  try {
    await client.election("leader", me, { ttl: 2 }, async term => {
      console.log(`leads ${term.token}`);
      while (!term.signal.aborted) {
        // It is made only if this program still leads.
        await client.transaction({ if: [term.guard], then: [{ put: "report", value: me }] });
        await sleep(0.1);
      }
    });
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    console.log("lost");
  }
}
