/**
 * Tests the package clients/typescript in Node. `typescript_package.py` compiles and runs it.
 *
 *     node typescript_test.js SERVICE PROXY FORGETFUL NOWHERE GUARDED TOKEN
 *
 * PROXY cuts the connections to SERVICE. FORGETFUL has a short history. NOWHERE refuses
 * connections. GUARDED asks for a token.
 */

import {
  Claim, Forbidden, InvalidValue, Latchkey, LatchkeyError, LeaseLost, NotAcquired, NotAnInteger,
  NotFound, OutcomeUnknown, PreconditionFailed, Problem, Replaced, Unauthorized, Unreachable,
} from "./latchkey/index.js";
import type { Property, WatchEvent } from "./latchkey/index.js";
import { rules } from "./typescript_rules_test.js";
import { watches as scriptedWatches } from "./typescript_watches_test.js";
import {
  ManualClock, expect, fast, refused, settle, take, waitUntil,
} from "./typescript_support.js";

declare const process: { argv: string[]; exitCode: number };

const [serviceURL, proxyURL, forgetfulURL, nowhereURL, guardedURL, token = ""] =
  process.argv.slice(2);
const client = new Latchkey(serviceURL);

const last = "line\u2028separator \u0085 ü";

async function values(): Promise<void> {
  for (const name of ["a b/ü?#%&+", "a%2Fb", "line\u2028separator"]) {
    expect(await client.find(name), undefined);
    const revision = await client.put(name, { of: name });
    const found: Property<{ of: string }> = await client.get<{ of: string }>(name);
    expect([found.value.of, found.revision, found.created], [name, revision, revision]);
    expect([await client.delete(name), await client.delete(name)], [true, false]);
  }
  const error = await refused(NotFound, () => client.get("none"));
  expect([error.status, error.type, error instanceof Problem], [404, "not-found", true]);
  expect([await client.increment("n"), await client.increment("n", -5)], [1, -4]);
  await client.put("text", "x");
  await refused(NotAnInteger, () => client.increment("text"));
  expect(await client.merge("o", { a: 1, b: 2 }), { a: 1, b: 2 });
  const first = (await client.get("o")).revision;
  expect(await client.merge("o", { a: null }, { ifRevision: first }), { b: 2 });
  await refused(PreconditionFailed, () => client.merge("o", 1, { ifRevision: first }));
  await refused(PreconditionFailed, () => client.put("o", 1, { ifAbsent: true }));
  await refused(PreconditionFailed, () => client.put("o", 1, { ifRevision: first }));
  expect((await client.get("o", first)).value, { a: 1, b: 2 });
  await client.increment("window", 1, { ttlIfNew: 50 });
  await client.increment("window", 1, { ttlIfNew: 500 });
  expect((await client.get("window")).ttl! <= 50, true);
  await client.touch("window", 500);
  expect((await client.get("window")).ttl! > 400, true);
  expect(await client.wait("late", 0, 0.1), undefined);
  const waiting = client.wait("late", 0, 20);
  await client.put("late", 1);
  expect((await waiting)?.value, 1);
}

async function several(): Promise<void> {
  for (let start = 0; start < 1100; start += 100) {
    await client.transaction({ then: Array.from({ length: 100 }, (_, n) => (
      { put: `many/${String(start + n).padStart(4, "0")}`, value: start + n })) });
  }
  const rows = await take(client.list("many/"), 2000);
  expect(rows.map(row => row.value), Array.from({ length: 1100 }, (_, n) => n));
  expect([...(await client.getMany(["many/0007", "none"])).values()].map(row => row.value), [7]);
  expect([await client.count("many/"), await client.deletePrefix("many/")], [1100, 1100]);
  expect(await client.count("many/"), 0);
  const done = await client.transaction({
    if: [{ name: "t", absent: true }], then: [{ increment: "t" }, { get: "t" }],
    else: [{ delete: "t" }],
  });
  expect([done.succeeded, done.results.map(row => row.value)], [true, [1, 1]]);
  const waiting = client.transaction({ if: [{ name: "t", ">": 4 }], then: [{ delete: "t" }] }, 20);
  await client.increment("t", 4);
  expect([(await waiting).succeeded, await client.find("t")], [true, undefined]);
  // `fetch` would ask for another path.
  for (const name of [".", ".."]) await refused(InvalidValue, () => client.get(name));
  const names = Array.from({ length: 129 }, (_, n) => String(n).padStart(40, "0"));
  await refused(InvalidValue, () => client.getMany(names));
  await client.put(names[7]!, 7);
  expect([...await client.getMany(names.slice(1))].map(([name, { value }]) => [name, value]),
         [[names[7], 7]]);
}

async function repeats(): Promise<void> {
  const cut = new Latchkey(proxyURL, fast);
  for (let sum = 1; sum <= 30; sum += 1) expect(await cut.increment("cut"), sum);
  const unsure = new Latchkey(proxyURL, { keys: false });
  await refused(OutcomeUnknown, async () => {
    for (let count = 0; count < 9; count += 1) await unsure.increment("unsure");
  });
  const nowhere = new Latchkey(nowhereURL, { patience: 0.2 });
  await refused(Unreachable, () => nowhere.get("n"));
  await refused(Unreachable, () => nowhere.put("n", 1));
}

async function access(): Promise<void> {
  await refused(Unauthorized, () => new Latchkey(guardedURL).get("a/1"));
  const known = new Latchkey(guardedURL, { token });
  await known.put("a/1", 1);
  await refused(Forbidden, () => known.put("b/1", 1));
  await refused(Forbidden, () => take(known.watch({ prefixes: ["b/"] }), 1));
}

async function watches(): Promise<void> {
  const start = await client.put("w/0", 0);
  const expected: unknown[] = [];
  for (let number = 0; number < 120; number += 1) {
    const revision = await client.put(`w/${number % 7}`, { number, last });
    expected.push([`w/${number % 7}`, revision, { number, last }]);
  }
  const cut = new Latchkey(proxyURL, fast);
  const watch = cut.watch({ prefixes: ["w/"], after: start, silence: 1e6 });
  const found = await take(watch, expected.length);
  expect(found.map(event => [event.name, event.revision, event.value]), expected);
  // A lost history, and a state that is complete again.
  const forgetful = new Latchkey(forgetfulURL);
  for (let number = 0; number < 40; number += 1) await forgetful.put(`f/${number % 4}`, number);
  const kinds = (await take(forgetful.watch({ after: 1 }), 6)).map(event => event.type);
  expect(kinds, ["gap", "put", "put", "put", "put", "ready"]);
  await watchOptions();
}

async function watchOptions(): Promise<void> {
  const abort = new AbortController();
  const seen: Map<string, unknown>[] = [];
  const following = (async () => {
    const options = { prefixes: ["s/"], names: ["z"], signal: abort.signal };
    for await (const state of client.states(options)) seen.push(state);
  })();
  await waitUntil("the first state", () => seen.length === 1);
  for (let number = 0; number < 50; number += 1) {
    const value = number;
    await client.transaction({ then: [{ put: "s/1", value }, { put: "z", value }] });
  }
  await waitUntil("the last state", () => seen[seen.length - 1]?.get("z") === 49);
  expect(seen.slice(1).filter(state => state.get("s/1") !== state.get("z")).length, 0);
  abort.abort();
  await following;
  const first = client.watch({ observer: "me", initial: true, names: ["z"], previous: true });
  expect(((await first.next()).value as WatchEvent).value, 49);
  expect(((await first.next()).value as WatchEvent).type, "ready");
  await client.put("z", 50);
  expect(((await first.next()).value as WatchEvent).previous, 49);
  const replaced = refused(Replaced, () => first.next());
  await take(client.watch({ observer: "me", initial: true }), 1);
  await replaced;
}

async function queue(): Promise<void> {
  expect(await client.pop("q/"), undefined);
  for (let number = 0; number < 20; number += 1) await client.put(`q/${10 + number}`, number);
  expect((await client.pop("q/"))?.value, 0);
  const claim = (await client.claim("q/", { claims: "c/", ttl: 5, value: "me" })) as Claim;
  expect([claim.value, (await client.get("c/11")).value], [1, "me"]);
  await claim.abandon();
  await refused(LeaseLost, () => claim.finish());
  expect(claim.signal.aborted, true);
  const done: unknown[] = [];
  const failing = () => client.work("q/", { claims: "c/", ttl: 5, wait: 0 }, job => {
    if (done.push(job.value) === 3) throw new RangeError("planted");
  });
  await refused(RangeError, failing);
  const work = client.work("q/", { claims: "c/", ttl: 5, wait: 0 }, job => {
    done.push(job.value);
    return [{ increment: "worked" }];
  });
  expect([await work, await client.count("q/"), await client.count("c/")], [17, 0, 0]);
  expect(done, [1, 2, 3, ...Array.from({ length: 17 }, (_, n) => n + 3)]);
  expect((await client.get("worked")).value, 17);
}

async function locks(): Promise<void> {
  let inside = 0;
  const tokens: number[] = [];
  await Promise.all(Array.from({ length: 6 }, async () => {
    for (let round = 0; round < 4; round += 1) {
      await client.lock("lock", { ttl: 5 }, async lease => {
        expect(inside, 0);
        inside += 1;
        tokens.push(lease.token);
        await client.get("z");
        inside -= 1;
      });
    }
  }));
  expect([tokens.length, tokens], [24, [...tokens].sort((a, b) => a - b)]);
  const clock = new ManualClock();
  const clocked = new Latchkey(serviceURL, { clock });
  await clocked.election("leader", { host: "one" }, { ttl: 60 }, async lease => {
    await refused(NotAcquired, () => client.acquire("leader", { wait: 0 }));
    for (let round = 0; round < 4; round += 1) {
      clock.advance(19);
      expect(lease.remaining, 35);
      clock.advance(1);
      await waitUntil("it is renewed", () => lease.remaining === 54);
    }
    expect([(await client.get("leader")).value, lease.signal.aborted], [{ host: "one" }, false]);
    expect((await client.transaction({ if: [lease.guard] })).succeeded, true);
  });
  await refused(LeaseLost, () => clocked.lock("lock", { ttl: 60 }, async lease => {
    await client.delete("lock");
    expect([lease.signal.aborted, lease.remaining], [false, 54]);
    clock.advance(20);
    await waitUntil("it is known to be lost", () => lease.signal.aborted);
    await refused(LeaseLost, async () => lease.check());
  }));
  await silence();
  const failing = () => client.lock("lock", {}, () => { throw new RangeError("planted"); });
  await refused(RangeError, failing);
  expect(await client.find("lock"), undefined);
}

/** Without answers each attempt has its limit, and a lease ends in time. */
async function silence(): Promise<void> {
  const clock = new ManualClock();
  let isSilent = false;
  const silent = new Latchkey(serviceURL, {
    clock, timeout: 4, patience: 10,
    fetch: (target, init) => isSilent
      ? new Promise((_, reject) => init?.signal?.addEventListener("abort", reject))
      : fetch(target, init),
  });
  const lease = await silent.acquire("lock", { ttl: 60 });
  isSilent = true;
  let ended: number | undefined;
  const asked = refused(Unreachable, () => silent.get("n")).then(() => { ended = clock.time; });
  while (clock.time < 53) {
    expect(lease.signal.aborted, false);
    clock.advance(0.5);
    // Runs the results of it, up to the next wait.
    await settle();
  }
  await asked;
  expect([ended! > 4, ended! <= 10], [true, true]);
  clock.advance(1);
  await waitUntil("it is known to be lost", () => {
    // Runs timers that are due now.
    clock.advance(0);
    return lease.signal.aborted;
  });
  expect(clock.time, 54);
  await client.delete("lock");
}

async function main(): Promise<void> {
  const running = [values, several, repeats, access, watches, queue, locks];
  for (const check of [...rules, ...scriptedWatches, ...running]) {
    console.log(`   ${check.name}`);
    await check();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof LatchkeyError ? `${error.name}: ${error.message}` : error);
  process.exitCode = 1;
});
