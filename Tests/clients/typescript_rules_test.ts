/** The rules of clients/behaviour.md, with a scripted service and a manual clock. */

import {
  Cancelled, InvalidValue, Latchkey, LeaseLost, NotAcquired, NotLatchkey, OutcomeUnknown, Problem,
  Unreachable, parse, stringify,
} from "./latchkey/index.js";
import type { Lease, Options } from "./latchkey/index.js";
import {
  ManualClock, Script, drive, dripping, expect, failed, json, made, page, refusal, refused, settle,
  silent,
} from "./typescript_support.js";
import type { Asked, Reaction } from "./typescript_support.js";

const url = "http://service";

function scripted(options: Options, ...reactions: Reaction[]) {
  const clock = new ManualClock();
  const script = new Script(...reactions);
  return { clock, script, client: new Latchkey(url, { clock, fetch: script.fetch, ...options }) };
}

const one = (value: unknown) => json({ succeeded: true, revision: 7, results: [value] });
const granted = one({ name: "l", revision: 7, value: null });
const held = json({ succeeded: false, revision: 7, results: [] });
const popped = one({ name: "q/1", revision: 6, created: 6, value: "x" });

/** Advances the clock before the reaction. */
function after(clock: ManualClock, seconds: number, reaction: Reaction): Reaction {
  return asked => {
    clock.advance(seconds);
    return reaction(asked);
  };
}

/** Answers that are not Latchkey's, for a read and for a write. */
async function statuses(): Promise<void> {
  const call = async (reaction: Reaction, isRead: boolean, options: Options = {}) => {
    const { clock, script, client } = scripted(options, reaction);
    const asked = isRead ? client.get("a") : client.put("a", 1);
    const name = await drive(clock, asked.then(() => "", (error: Error) => error.name));
    expect(new Set(script.keys).size, 1);
    return [name, script.asked.length > 1, clock.time <= 10.1];
  };
  for (const status of [408, 500, 502, 503, 504]) {
    expect(await call(page(status), true), ["Unreachable", true, true]);
    expect(await call(page(status), false), ["OutcomeUnknown", true, true]);
    expect(await call(page(status), false, { keys: false }), ["OutcomeUnknown", false, true]);
  }
  for (const status of [425, 429]) {
    expect(await call(page(status), false), ["Unreachable", true, true]);
  }
  const elses = [page(200), page(204), page(302, { Location: "/" }), page(404), page(403),
                 json(1), json([]), made(), page(200, { ETag: '"1"' }, "1")];
  for (const reaction of elses) {
    expect(await call(reaction, false), ["NotLatchkey", false, true]);
    expect(await call(reaction, true), ["NotLatchkey", false, true]);
  }
  for (const code of ["ECONNREFUSED", "EAI_AGAIN"]) {
    expect(await call(failed(code), false), ["Unreachable", true, true]);
  }
  const ways = [{ code: "ETIMEDOUT", syscall: "connect" }, { code: "ENETUNREACH" }];
  const nowhere = () => {
    throw new TypeError("fetch failed", { cause: { code: "ETIMEDOUT", errors: ways } });
  };
  expect(await call(nowhere, false), ["Unreachable", true, true]);
  for (const code of ["ENOTFOUND", "CERT_HAS_EXPIRED", "ERR_TLS_CERT_ALTNAME_INVALID"]) {
    expect(await call(failed(code), false), ["Unreachable", false, true]);
  }
  expect(await call(failed("HPE_INVALID_CONSTANT"), false), ["NotLatchkey", false, true]);
  for (const reaction of [failed("ECONNRESET"), silent, dripping]) {
    expect(await call(reaction, true, { timeout: 3 }), ["Unreachable", true, true]);
    expect(await call(reaction, false, { timeout: 3 }), ["OutcomeUnknown", true, true]);
  }
  expect(await call(refusal(503, "draining"), false), ["Busy", true, true]);
  expect(await call(refusal(500, "outcome-unknown"), false), ["OutcomeUnknown", true, true]);
  expect(await call(refusal(403, "forbidden"), false), ["Forbidden", false, true]);
}

/** A later answer decides a write in doubt, if it tells its outcome. */
async function doubts(): Promise<void> {
  const put = (...reactions: Reaction[]) => {
    const { clock, client, script } = scripted({}, ...reactions);
    return { script, ended: drive(clock, client.put("a", 1)) };
  };
  const { script, ended } = put(page(504), made(9));
  expect([await ended, script.asked.length], [9, 2]);
  await refused(Problem, () => put(page(504), refusal(507, "store-full")).ended);
  for (const last of [page(200), failed("ENOTFOUND"), refusal(403, "forbidden")]) {
    await refused(OutcomeUnknown, () => put(page(504), last).ended);
  }
  const { client, clock, script: busy } = scripted({}, refusal(503, "too-many-idempotency-keys"),
                                                   made(3));
  expect([await client.put("a", 1), busy.keys.map(Boolean)], [3, [true, false]]);
  expect([await client.put("a", 1), busy.keys.map(Boolean)], [3, [true, false, false]]);
  clock.advance(11);
  expect([await client.put("a", 1), busy.keys[3] !== null], [3, true]);
  // A proxy says when to come again.
  const late = scripted({}, page(503, { "Retry-After": "4" }), made(3));
  expect([await drive(late.clock, late.client.put("a", 1)), late.clock.time >= 4], [3, true]);
}

/** Each attempt asks for the rest of its wait. */
async function polls(): Promise<void> {
  const waits = (asked: Asked[]) => asked.map(({ url: { searchParams }, headers }) =>
    [searchParams.get("wait"), headers.get("If-None-Match")]);
  const { clock, script, client } = scripted({}, asked => {
    clock.time += Math.min(20, Number(asked.url.searchParams.get("wait")));
    return asked.method === "POST" ? held(asked) : new Response(null, { status: 304 });
  });
  expect(await client.wait("a", 7, 50), undefined);
  expect(waits(script.asked.splice(0)), [["50", '"7"'], ["30", '"7"'], ["10", '"7"']]);
  // The shortest wait that a client can ask for is not written with an exponent.
  expect(await client.wait("a", 7, 1e-7), undefined);
  expect((await client.transaction({}, 1e-7)).succeeded, false);
  expect(waits(script.asked), [["0.001", '"7"'], ["0.001", null]]);
  const cut = scripted({}, asked => {
    cut.clock.time += 3;
    return failed("ECONNRESET")(asked);
  });
  await refused(OutcomeUnknown, () => drive(cut.clock, cut.client.transaction({}, 8)));
  const asked = waits(cut.script.asked).map(([wait]) => Number(wait));
  expect([asked.length, asked[0], asked[1]! < 5.01, asked[2]! < 2.01], [4, 8, true, true]);
  expect(new Set(cut.script.keys).size, 1);
  for (const wait of [NaN, -1]) await refused(InvalidValue, () => client.wait("a", 0, wait));
}

/** Several addresses; the leader is one of them, or not. A read precedes a write. */
async function addresses(): Promise<void> {
  const hosts = (script: Script) => script.asked.map(({ method, url: { hostname } }) =>
    hostname + (method === "GET" ? "?" : ""));
  const urls = ["http://two", "http://three/"];
  const down = scripted({ urls }, failed("ECONNREFUSED"), failed("ENOTFOUND"), made(5));
  expect([await drive(down.clock, down.client.put("a", 1)), hosts(down.script)],
         [5, ["service?", "two?", "three?", "three"]]);
  const toThree = refusal(421, "not-leader", { leader: "http://three" });
  const led = scripted({ urls }, json([]), toThree, made(5));
  expect([await led.client.put("a", 1), await led.client.put("a", 1), hosts(led.script)],
         [5, 5, ["service?", "service", "three?", "three", "three"]]);
  const refusing = failed("ECONNREFUSED");
  const began = scripted({ urls }, refusing, refusing, refusing, json([]), toThree, made(5));
  expect([await drive(began.clock, began.client.put("a", 1)), hosts(began.script).slice(3)],
         [5, ["service?", "service", "three?", "three"]]);
  const other = scripted({ urls, token: "t" }, json([]),
                         refusal(421, "not-leader", { leader: "http://four" }));
  const error = await refused(Problem, () => other.client.put("a", 1));
  expect([error.leader, error.message.includes("http://four"), hosts(other.script)],
         ["http://four", true, ["service?", "service"]]);
  // A write in doubt stays at its address; other calls do not.
  const unsure = scripted({ urls }, json([]), failed("ECONNRESET"), json(1, 1), made(5));
  const put = unsure.client.put("a", 1);
  await settle();
  expect((await unsure.client.get("a")).value, 1);
  expect([await drive(unsure.clock, put), hosts(unsure.script)],
         [5, ["service?", "service", "two?", "service"]]);
  // A machine that is off: no request was sent.
  const off = scripted({ urls, patience: 5 }, asked =>
    (asked.url.hostname === "service" ? silent : made(5))(asked));
  expect([await drive(off.clock, off.client.put("a", 1)), await off.client.put("a", 1)], [5, 5]);
  expect(hosts(off.script), ["service?", "two?", "two", "two"]);
  for (const wrong of ["service", "ftp://service", "http://me:secret@service"]) {
    const { message } = await refused(Unreachable, async () => new Latchkey(wrong));
    expect(message.includes("secret"), false);
  }
}

/** A grant that had to wait is renewed at once; only then the caller gets it. */
async function grants(): Promise<void> {
  const acquire = { ttl: 10, wait: 50 };
  const { clock, script, client } = scripted({}, asked => after(clock, 20, granted)(asked),
                                             asked => after(clock, 1, made(7))(asked), made());
  const lease = await client.acquire("l", acquire);
  expect([script.lines, lease.remaining], [["POST /v1/transactions", "POST /v1/properties/l/touch"],
                                           8]);
  expect([script.asked[1]!.headers.get("If-Match"), await lease.release()], ['"7"', true]);
  // A grant that did not have to wait needs no renewal.
  const quick = scripted({}, granted);
  expect([(await quick.client.acquire("l", acquire)).remaining, quick.script.asked.length], [9, 1]);
  const expired = [refusal(412, "precondition-failed"), refusal(404, "not-found"), made(8),
                   silent, page(200)];
  for (const renewal of expired) {
    const rig = scripted({}, asked => {
      if (asked.url.pathname.endsWith("touch")) return renewal(asked);
      if (asked.method === "DELETE") return made()(asked);
      const isFirst = rig.script.asked.length === 1;
      const seconds = isFirst ? 20 : Number(asked.url.searchParams.get("wait"));
      return after(rig.clock, seconds, isFirst ? granted : held)(asked);
    });
    await refused(NotAcquired, () => drive(rig.clock, rig.client.acquire("l", acquire)));
    const lines = rig.script.lines.filter(line => !line.endsWith("touch"));
    expect([lines.filter(line => line.startsWith("DELETE")).length, lines.length], [1, 3]);
    expect(rig.clock.time <= 52.1, true);
  }
  const claim = scripted({}, asked => after(claim.clock, 20, popped)(asked), made(7));
  const job = await claim.client.claim("q/", { claims: "c/", ttl: 10, wait: 50 });
  expect([job!.value, claim.script.lines[1], job!.remaining],
         ["x", "POST /v1/properties/c/1/touch", 9]);
  // A call that does not wait has `patience` for grant and renewal.
  const late = (answer: Reaction) => {
    const rig = scripted({}, asked => after(rig.clock, 2.5, answer)(asked),
                         asked => after(rig.clock, 1, made(7))(asked));
    return rig.client;
  };
  expect((await late(granted).acquire("l", { ttl: 20, wait: 0 })).remaining, 17);
  expect((await late(popped).claim("q/", { claims: "c/", ttl: 20, wait: 0 }))?.remaining, 17);
}

/** `lost` comes by the clock, whatever renewals do, and with the end of the client. */
async function losses(): Promise<void> {
  for (const renewal of [silent, page(200), page(503), failed("ECONNREFUSED"), made(8), dripping]) {
    const { clock, client } = scripted({}, granted, renewal);
    const lease = await client.acquire("l", { ttl: 10 });
    for (; clock.time < 8.99; clock.advance(0.1)) {
      expect(lease.signal.aborted, false);
      await settle();
    }
    clock.advance(0.1);
    expect([lease.signal.aborted, lease.remaining], [true, 0]);
    await refused(LeaseLost, async () => lease.check());
  }
  const stopped = scripted({}, granted);
  const late = await stopped.client.acquire("l", { ttl: 9 });
  stopped.clock.advance(20);
  await settle();
  expect([late.signal.aborted, stopped.script.asked.length], [true, 1]);
  const gone = scripted({}, granted, refusal(404, "not-found"));
  const lost = await gone.client.acquire("l", { ttl: 9 });
  gone.clock.advance(3);
  await settle();
  expect(lost.signal.aborted, true);
  // The time of day continues while the machine sleeps.
  const asleep = new Latchkey(url, { fetch: new Script(granted).fetch });
  const before = await asleep.acquire("l");
  const { now } = Date;
  Date.now = () => now() + 60_000;
  expect([before.remaining, before.signal.aborted], [0, false]);
  Date.now = now;
  expect(before.remaining, 0);
  await asleep.close();
  // A claim is renewed while it is being finished, also after its time.
  const slow = scripted({}, popped, () => finished, made(7), refusal(404, "not-found"));
  const claim = await slow.client.claim("q/", { claims: "c/", ttl: 9 });
  let end!: (answer: Response) => void;
  const finished = new Promise<Response>(resolve => { end = resolve; });
  const finish = claim!.finish();
  for (const at of [3, 6, 9]) {
    await settle();
    slow.clock.advance(3);
    expect([at, claim!.signal.aborted], [at, false]);
  }
  await settle();
  end(await one({})(slow.script.asked[0]!));
  await finish;
  expect([claim!.signal.aborted, slow.script.lines.filter(line => line.endsWith("touch")).length],
         [false, 3]);
  const { client, clock } = scripted({}, granted, page(503), made(7), made(7), silent);
  const lease = await client.acquire("l", { ttl: 9 });
  clock.advance(3);
  await settle();
  clock.advance(0.1);
  await settle();
  // Renewed after a failure.
  expect(lease.remaining > 8, true);
  await client.close();
  expect([lease.signal.aborted, lease.remaining], [true, 0]);
  const cancelled = await refused(Cancelled, () => client.get("a"));
  expect(cancelled.message, "the client is closed");
}

/** A cancelled call gives its result back, with the same key and without waiting. */
async function cancels(): Promise<void> {
  const wait = 50;
  const cases: [string, Reaction, (client: Latchkey, signal: AbortSignal) => Promise<unknown>][] = [
    ["DELETE /v1/properties/l", granted, (client, signal) => client.acquire("l", { wait, signal })],
    ["DELETE /v1/properties/c/1", popped,
     (client, signal) => client.claim("q/", { claims: "c/", wait, signal })],
    ["PUT /v1/properties/q/1", popped, (client, signal) => client.pop("q/", wait, { signal })],
  ];
  for (const [undo, answer, call] of cases) {
    for (const isClosed of [false, true]) {
      const { client, script } = scripted({}, silent, answer, made());
      const abort = new AbortController();
      const asked = refused(Cancelled, () => call(client, abort.signal));
      await settle();
      if (isClosed) await client.close();
      else abort.abort(new RangeError("planted"));
      const error = await asked;
      expect(error.cause instanceof RangeError, !isClosed);
      if (!isClosed) await settle();
      expect([script.lines.length, script.lines[2]], [3, undo]);
      expect(script.keys[0] === script.keys[1] && script.keys[0] !== null, true);
      expect(script.asked.map(({ url: { searchParams } }) => searchParams.get("wait")),
             [String(wait), null, null]);
      const { headers, body } = script.asked[2]!;
      if (undo.startsWith("PUT")) expect([headers.get("If-None-Match"), body], ["*", "x"]);
      else expect(headers.get("If-Match"), '"7"');
    }
  }
  // A released lease is given back, although the call for it is over.
  const held = scripted({}, granted, made());
  const lease = await held.client.acquire("l");
  const over = new AbortController();
  over.abort();
  await refused(Cancelled, () => lease.release({ signal: over.signal }));
  expect([await lease.release(), lease.remaining, held.script.lines.slice(1)],
         [true, 0, ["DELETE /v1/properties/l"]]);
  // A wait between two attempts, and a call that has not begun.
  const { client, script } = scripted({}, refusal(503, "draining"));
  const abort = new AbortController();
  const asked = refused(Cancelled, () => client.acquire("l", { signal: abort.signal }));
  await settle();
  abort.abort();
  await asked;
  await refused(Cancelled, () => client.get("a", undefined, { signal: abort.signal }));
  await settle();
  expect(script.asked.length, 1);
}

/** Handlers that give their steps one after the other, or raise. */
async function handlers(): Promise<void> {
  const rig = () => scripted({}, popped, json({ succeeded: true, revision: 8, results: [
    { name: "q/1", revision: 0 }] }));
  const options = { claims: "c/", wait: 0 };
  const good = rig();
  expect(await good.client.work("q/", options, async function* () {
    yield { increment: "a" };
    yield { increment: "b" };
  }), 1);
  expect(good.script.asked[1]!.body.then.slice(2, 4), [{ increment: "a" }, { increment: "b" }]);
  const bad = scripted({}, popped, made());
  await refused(RangeError, () => bad.client.work("q/", options, function* () {
    yield { increment: "a" };
    throw new RangeError("planted");
  }));
  expect(bad.script.lines[1], "DELETE /v1/properties/c/1");
  // The job is finished, and no other is taken.
  const ended = rig();
  const abort = new AbortController();
  await refused(Cancelled, () => ended.client.work(
    "q/", { ...options, signal: abort.signal }, () => abort.abort()));
  expect([ended.script.asked.length, ended.script.asked[1]!.body.then.length], [2, 2]);
  // `release` twice, and inside of the block.
  const twice = scripted({}, granted, made());
  let lease: Lease | undefined;
  await twice.client.lock("l", {}, async held => {
    lease = held;
    expect([await held.release(), await held.release()], [true, true]);
  });
  expect([lease!.signal.aborted, lease!.remaining, twice.script.asked.length], [false, 0, 2]);
}

async function secrets(): Promise<void> {
  const { client, script, clock } = scripted({ token: "s3cret\r\n" }, page(200));
  const error = await refused(NotLatchkey, () => client.get("a"));
  expect(script.asked[0]!.headers.get("Authorization"), "Bearer s3cret");
  const { inspect } = await import("node:util" as string) as {
    inspect(value: unknown, options: object): string;
  };
  const shown = [client, error, clock, await refused(InvalidValue, async () =>
    new Latchkey(url, { token: "s3cret\ns3cret" }))];
  for (const value of shown) {
    const text = inspect(value, { depth: 9, showHidden: true });
    expect([text.includes("s3cret"), String(JSON.stringify(value)).includes("s3cret")],
           [false, false]);
  }
}

async function numbers(): Promise<void> {
  const text = '{"a":[9007199254740993,-12345678901234567890,1.5e300,"\\"1234567890123456789"],'
    + '"b":9007199254740991,"c":0.12345678901234567}';
  const found = parse(text) as { a: unknown[]; b: unknown };
  expect([found.a.map(value => typeof value), typeof found.b],
         [["bigint", "bigint", "number", "string"], "number"]);
  expect(found.a[0] === 9007199254740993n && found.a[3] === '"1234567890123456789', true);
  expect(stringify({ a: found.a.slice(0, 2), b: ['"', 1n, "2"] }),
         '{"a":[9007199254740993,-12345678901234567890],"b":["\\"",1,"2"]}');
  for (const broken of ["0123456789012345678", "12345678901234567890x", '"1234567890123456789']) {
    await refused(SyntaxError, async () => parse(broken));
  }
  const { client, script } = scripted({}, json(1, 1));
  const loop: unknown[] = [];
  loop.push(loop);
  const wrong = [NaN, Infinity, 2 ** 53, undefined, () => 1, [undefined], new Map(), loop];
  for (const value of wrong) {
    await refused(InvalidValue, () => client.put("a", value));
    await refused(InvalidValue, () => client.transaction({ then: [{ put: "a", value: [value] }] }));
  }
  await refused(InvalidValue, () => client.put("\ud800", 1));
  await refused(InvalidValue, () => client.put("a", 1, { ttl: NaN }));
  expect(script.asked.length, 0);
  const large = () => new Response("9007199254740993", {
    headers: { "Content-Type": "application/json", ETag: '"1"' } });
  const sums = scripted({}, large, large, json(2, 1), json(2, 1)).client;
  expect([await sums.increment("a") === 9007199254740993n,
          await sums.increment("a", 1n) === 9007199254740993n,
          await sums.increment("a"), await sums.increment("a", 1n) === 2n], [true, true, 2, true]);
}

export const rules = [statuses, doubts, polls, addresses, grants, losses, cancels, handlers,
                      secrets, numbers];
