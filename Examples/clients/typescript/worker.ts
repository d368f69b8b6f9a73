// A queue of jobs. A worker that dies loses none: another one gets its job.
//
//     export LATCHKEY_URL=http://127.0.0.1:8080
//     node worker.js add hello     # a job
//     node worker.js work          # a worker; start several
//     node worker.js work 5        # one that takes 5 seconds for each job
//
// A job is done at least once. The changes that `handle` returns are made once, when the job ends.

import { Latchkey, type Claim, type Step } from "latchkey";
import { sleep, url, words } from "./settings.js";

const [what, text = "0"] = words;

async function handle(claim: Claim): Promise<Step[]> {
  console.log(`begins ${claim.value}`);
  await sleep(Number(text));
  console.log(`ends ${claim.value}`);
  return [{ increment: `sent/${claim.value}` }];
}

const client = new Latchkey(url);
if (what === "add") {
  // The order of names is the order of jobs.
  const name = `jobs/${Date.now()} ${crypto.randomUUID()}`;
  await client.put(name, text, { ifAbsent: true });
} else {
  await client.work("jobs/", { claims: "claims/", ttl: 2 }, handle);
}
