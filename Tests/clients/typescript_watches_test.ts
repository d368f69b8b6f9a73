/** Watches, with scripted streams and a manual clock. */

import { InvalidValue, Latchkey, NotLatchkey, Replaced } from "./latchkey/index.js";
import type { WatchEvent, WatchOptions } from "./latchkey/index.js";
import {
  ManualClock, Script, drive, expect, failed, json, page, refusal, settle, take,
} from "./typescript_support.js";
import type { Asked } from "./typescript_support.js";

/** A stream that a client has opened. */
class Flow {
  readonly asked: Asked;
  isOpen = true;
  #flow: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly answer: Response;

  constructor(asked: Asked) {
    this.asked = asked;
    const body = new ReadableStream<Uint8Array>({
      start: flow => { this.#flow = flow; }, cancel: () => { this.isOpen = false; },
    });
    this.answer = new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }

  bytes(bytes: Uint8Array): void {
    this.#flow!.enqueue(bytes);
  }

  send(text: string): void {
    this.bytes(new TextEncoder().encode(text));
  }

  event(type: string, data: object, id?: number | string): void {
    this.send(`event: ${type}\ndata: ${JSON.stringify(data)}\n`
      + (id === undefined ? "\n" : `id: ${id}\n\n`));
  }

  put(name: string, id: number | string): void {
    this.event("put", { name, revision: parseInt(String(id)), value: name }, id);
  }

  end(): void {
    this.isOpen = false;
    this.#flow!.close();
  }
}

/** A service whose streams a test controls. */
class Rig {
  readonly clock = new ManualClock();
  readonly flows: Flow[] = [];
  revision = 10;
  readonly script = new Script(asked => {
    if (!asked.url.pathname.endsWith("/watch")) {
      return json({ revision: this.revision, properties: [] })(asked);
    }
    const flow = new Flow(asked);
    this.flows.push(flow);
    return flow.answer;
  });
  readonly client = new Latchkey("http://service", { clock: this.clock, fetch: this.script.fetch });

  get last(): Flow {
    return this.flows[this.flows.length - 1]!;
  }

  get open(): Flow[] {
    return this.flows.filter(flow => flow.isOpen);
  }

  /** The events of a watch, as they arrive. */
  async read(options: WatchOptions): Promise<Reading> {
    const reading = new Reading(this.client.watch(options));
    await settle();
    return reading;
  }
}

class Reading {
  readonly events: WatchEvent[] = [];
  error: unknown;
  isOver = false;
  readonly #watch: AsyncGenerator<WatchEvent>;

  constructor(watch: AsyncGenerator<WatchEvent>) {
    this.#watch = watch;
    void this.#run();
  }

  async #run(): Promise<void> {
    try {
      for await (const event of this.#watch) this.events.push(event);
    } catch (error) {
      this.error = error;
    }
    this.isOver = true;
  }

  /** Names (or types of events without one) since the last call. */
  async next(): Promise<string[]> {
    await settle();
    return this.events.splice(0).map(({ name, type }) => name || type);
  }
}

const asks = ({ asked: { url, headers } }: Flow) =>
  [decodeURIComponent(url.search), headers.get("Last-Event-ID")];

/** Three line ends, also within a piece; `retry` and the byte order mark. */
async function lines(): Promise<void> {
  for (const end of ["\n", "\r\n", "\r"]) {
    for (const width of [1, 2, 7, 500]) {
      const rig = new Rig();
      const reading = await rig.read({ after: 1 });
      const text = ["\ufeff: begin", "retry: 4000", "event: put", "id: 11",
                    'data: {"name":"ü","revision":11,', 'data:"value":1}', "", "event: other",
                    "data: 1", "", ""].join(end);
      const bytes = new TextEncoder().encode(text);
      for (let at = 0; at < bytes.length; at += width) rig.last.bytes(bytes.slice(at, at + width));
      await settle();
      rig.last.end();
      expect(await reading.next(), ["ü"]);
      rig.clock.advance(3.9);
      await settle();
      expect(rig.flows.length, 1);
      rig.clock.advance(0.2);
      await settle();
      expect(rig.flows.map(asks), [["", "1"], ["", "11"]]);
    }
  }
}

/** Passing errors are retried without limit; others end the watch. */
async function failures(): Promise<void> {
  for (const reaction of [page(502), page(429), failed("ECONNREFUSED"), failed("ECONNRESET"),
                          refusal(503, "draining"), refusal(429, "rate-limited")]) {
    const rig = new Rig();
    const reactions = rig.script.reactions.slice();
    rig.script.reactions = [...Array.from({ length: 20 }, () => reaction), ...reactions];
    const reading = await rig.read({ after: 1 });
    await drive(rig.clock, (async () => {
      while (rig.flows.length === 0 && !reading.isOver) await settle();
    })());
    expect([reading.error, rig.clock.time > 30], [undefined, true]);
  }
  for (const reaction of [page(200), page(302), page(404), json({}), failed("ENOTFOUND"),
                          refusal(403, "forbidden")]) {
    const rig = new Rig();
    rig.script.reactions.unshift(reaction);
    const reading = await rig.read({ after: 1 });
    expect([reading.isOver, reading.error instanceof Error], [true, true]);
  }
  const late = new Rig();
  late.script.reactions.unshift(page(503, { "Retry-After": "1000000" }));
  await late.read({ after: 1 });
  late.clock.advance(599);
  await settle();
  expect(late.flows.length, 0);
  late.clock.advance(1);
  await settle();
  expect(late.flows.length, 1);
  for (const data of ["[]", "x", '{"name":1,"revision":1}', '{"name":"a"}', "null"]) {
    const rig = new Rig();
    const reading = await rig.read({ after: 1 });
    rig.last.send(`event: put\nid: 11\ndata: ${data}\n\n`);
    await settle();
    expect([reading.error instanceof NotLatchkey, rig.last.isOpen], [true, false]);
  }
  const rig = new Rig();
  const reading = await rig.read({ observer: "me" });
  rig.last.send("event: replaced\n\n");
  await settle();
  expect([reading.error instanceof Replaced, rig.last.isOpen], [true, false]);
  // Without a sign of life, it connects again, from its place.
  const silent = new Rig();
  await silent.read({});
  silent.clock.advance(60);
  await settle();
  silent.clock.advance(0.1);
  await settle();
  expect(silent.flows.map(asks), [["", "10"], ["", "10"]]);
}

/** A state that was cut off comes again, after a gap. */
async function states(): Promise<void> {
  const rig = new Rig();
  const both = await rig.read({ after: 1, initial: true });
  expect([both.error instanceof InvalidValue, rig.flows.length], [true, 0]);
  const reading = await rig.read({ prefixes: ["a"], initial: true });
  expect(rig.flows.map(asks), [["?initial=true&prefix=a", null]]);
  rig.last.event("put", { name: "a1", revision: 4, value: 1 });
  await settle();
  rig.last.end();
  await settle();
  rig.clock.advance(0.1);
  await settle();
  expect(asks(rig.last), ["?initial=true&prefix=a", null]);
  rig.last.event("put", { name: "a1", revision: 4, value: 1 });
  rig.last.event("ready", { revision: 11 }, 11);
  expect(await reading.next(), ["a1", "gap", "a1", "ready"]);
  // Leaving a loop over the states ends the stream.
  const left = new Rig();
  const first = take(left.client.states(), 1);
  await settle();
  left.last.event("ready", { revision: 11 }, 11);
  expect([(await first).length, left.open.length], [1, 0]);
}

/** Up-to-date watches share a stream; each gets its own events, once, in order. */
async function shares(): Promise<void> {
  const rig = new Rig();
  const all = [await rig.read({ prefixes: ["a/"] }), await rig.read({ prefixes: ["b/"] }),
               await rig.read({ names: ["c"] })];
  expect([rig.open.length, asks(rig.last)], [1, ["?prefix=a/&prefix=b/&name=c", "10"]]);
  for (const [index, name] of ["a/1", "b/1", "c", "a/2"].entries()) rig.last.put(name, 11 + index);
  expect([await all[0]!.next(), await all[1]!.next(), await all[2]!.next()],
         [["a/1", "a/2"], ["b/1"], ["c"]]);
  // A watch with a state reads it alone, and joins from there: events in between come again.
  const joins = await rig.read({ prefixes: ["d/"], initial: true });
  expect([rig.open.length, asks(rig.last)], [2, ["?initial=true&prefix=d/", null]]);
  rig.last.event("put", { name: "d/1", revision: 9, value: 1 });
  rig.last.event("ready", { revision: 20 }, 20);
  await settle();
  expect([rig.open.length, asks(rig.last)],
         [1, ["?prefix=a/&prefix=b/&prefix=d/&name=c", "14"]]);
  rig.last.put("a/3", 18);
  rig.last.put("d/1", 19);
  rig.last.put("d/2", 21);
  expect([await all[0]!.next(), await joins.next()], [["a/3"], ["d/1", "ready", "d/2"]]);
  // Names that the stream already has need no other stream.
  const count = rig.flows.length;
  const same = await rig.read({ names: ["a/9"], after: 21 });
  rig.last.put("a/9", 22);
  await settle();
  expect([rig.flows.length - count, rig.open.length], [1, 1]);
  rig.open[0]!.put("a/9", 22);
  rig.open[0]!.put("a/9", 23);
  expect([await all[0]!.next(), await same.next()], [["a/9", "a/9"], ["a/9", "a/9"]]);
  // The events of a commit arrive when it is complete, and each watch knows its last one.
  rig.open[0]!.put("a/4", "24.1");
  expect(await all[0]!.next(), []);
  rig.open[0]!.put("b/4", 24);
  await settle();
  expect([all[0]!.events.splice(0), all[1]!.events.splice(0)].flat()
    .map(({ name, id, endsCommit }) => [name, id, endsCommit]),
         [["a/4", "24", true], ["b/4", "24", true]]);
  // The last event of a commit belongs to a watch that leaves before.
  const leaving = new Rig();
  const stays = await leaving.read({ prefixes: ["a/"] });
  const leaves = leaving.client.watch({ prefixes: ["b/"] });
  const nothing = leaves.next();
  await settle();
  leaving.last.put("b/0", 11);
  leaving.last.put("a/1", "12.1");
  await nothing;
  await leaves.return(undefined);
  leaving.last.end();
  await settle();
  leaving.clock.advance(0.1);
  await settle();
  expect(asks(leaving.last), ["?prefix=a/", "12.1"]);
  leaving.last.put("a/2", 13);
  await settle();
  expect(stays.events.map(({ name, id, endsCommit }) => [name, id, endsCommit]),
         [["a/1", "12", true], ["a/2", "13", true]]);
  // A gap is for all watches, and each gets its names of the state.
  rig.open[0]!.event("gap", { revision: 30, oldest: 28 });
  rig.open[0]!.event("put", { name: "a/5", revision: 29, value: 1 });
  rig.open[0]!.event("ready", { revision: 30 }, 30);
  expect([await all[0]!.next(), await all[1]!.next()],
         [["gap", "a/5", "ready"], ["gap", "ready"]]);
  // The end of a single watch, and a watch that has a stream of its own.
  const abort = new AbortController();
  rig.revision = 30;
  const more = await rig.read({ prefixes: ["e/"], signal: abort.signal });
  await rig.read({ prefixes: ["f/"], observer: "me" });
  expect(rig.open.length, 2);
  abort.abort();
  await settle();
  expect([more.isOver, rig.open.length], [true, 2]);
  await rig.client.close();
  await settle();
  expect([all.every(each => each.isOver && !each.error), rig.open.length], [true, 0]);
}

/** An unread watch gets its own stream; so does each if the shared one is refused. */
async function separations(): Promise<void> {
  const rig = new Rig();
  const quick = await rig.read({ prefixes: ["a/"] });
  const slow = rig.client.watch({ prefixes: ["b/"] });
  const first = slow.next();
  await settle();
  const shared = rig.last;
  for (let id = 11; id < 1100; id += 1) shared.put("b/1", id);
  await settle();
  shared.put("a/1", 1100);
  await settle();
  expect([(await quick.next()).length, rig.open.length], [0, 1]);
  rig.clock.advance(1);
  await settle();
  expect([await quick.next(), rig.open.length, asks(rig.last)],
         [["a/1"], 2, ["?prefix=b/", "1011"]]);
  let count = (await first).value.name === "b/1" ? 1 : 0;
  while (count < 1001) count += (await slow.next()).value.name === "b/1" ? 1 : 0;
  rig.last.put("b/2", 1101);
  expect((await slow.next()).value.name, "b/2");
  // Both are slow.
  const late = new Rig();
  const begun: Promise<unknown>[] = [];
  for (const prefix of ["a/", "b/"]) {
    begun.push(late.client.watch({ prefixes: [prefix] }).next());
    await settle();
  }
  const both = Array.from({ length: 1100 }, (_, at) => ["a/", "b/"].map((name, index) =>
    `event: put\ndata: {"name":"${name}","revision":${11 + 2 * at + index}}\n`
    + `id: ${11 + 2 * at + index}\n\n`)).flat();
  late.last.send(both.join(""));
  await settle();
  late.clock.advance(1);
  await settle();
  expect([late.flows.length > 2, late.open.map(asks).map(([names]) => names).sort()],
         [true, ["?prefix=a/", "?prefix=b/"]]);
  await Promise.all(begun);
  // An unread watch does not delay another one that comes later.
  const full = new Rig();
  const begins = full.client.watch({ prefixes: ["a/"] }).next();
  await settle();
  for (let id = 11; id < 1100; id += 1) full.last.put("a/1", id);
  await begins;
  await settle();
  full.revision = 1099;
  const later = await full.read({ prefixes: ["a/"] });
  full.last.put("a/2", 1100);
  expect([await later.next(), full.open.length], [["a/2"], 2]);
  const refusing = new Rig();
  const one = await refusing.read({ prefixes: ["a/"] });
  refusing.script.reactions.unshift(json({ revision: 10, properties: [] }),
                                    refusal(403, "forbidden"), refusing.script.reactions[0]!,
                                    refusal(403, "forbidden"));
  const bad = await refusing.read({ prefixes: ["b/"] });
  expect([bad.isOver, one.isOver, refusing.open.length, asks(refusing.last)],
         [true, false, 1, ["?prefix=a/", "10"]]);
}

export const watches = [lines, failures, states, shares, separations];
