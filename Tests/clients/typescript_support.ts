/** Helpers that the tests of the TypeScript package share. */

import type { Clock } from "./latchkey/index.js";

/** A clock that stands still until a test advances it. */
export class ManualClock implements Clock {
  time = 0;
  private calls: { at: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  later(seconds: number, call: () => void): () => void {
    const one = { at: this.time + seconds, call };
    this.calls.push(one);
    return () => { this.calls = this.calls.filter(other => other !== one); };
  }

  advance(seconds: number): void {
    this.time += seconds;
    const due = this.calls.filter(one => one.at <= this.time);
    this.calls = this.calls.filter(one => one.at > this.time);
    for (const one of due) one.call();
  }
}
/** A clock that runs a hundred times faster: pauses take no time. */
export const fastClock: Clock = {
  now: () => performance.now() / 10,
  later: (seconds, call) => {
    const timer = setTimeout(call, Math.min(10 * seconds, 2 ** 31 - 1));
    return () => clearTimeout(timer);
  },
};

/** Options for that clock, with which no request times out. */
export const fast = { clock: fastClock, timeout: 1e6, patience: 1e6 };

export function expect(found: unknown, wanted: unknown): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${a} instead of ${b}`);
}

export async function refused<Kind extends Error>(
  kind: new (...words: never[]) => Kind, call: () => Promise<unknown>,
): Promise<Kind> {
  let value: unknown;
  try {
    value = await call();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  throw new Error(`no ${kind.name}, but ${String(value)}`);
}

export async function waitUntil(what: string, condition: () => unknown): Promise<void> {
  const end = performance.now() + 120_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`this did not happen: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
}

export async function take<Value>(events: AsyncIterable<Value>, count: number): Promise<Value[]> {
  const taken: Value[] = [];
  for await (const event of events) {
    taken.push(event);
    if (taken.length === count) break;
  }
  return taken;
}

declare function setImmediate(call: () => void): void;

/** Runs all that can run now, up to the next wait. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    await new Promise<void>(resolve => setImmediate(resolve));
  }
}

/** Advances the clock until the promise has ended. */
export async function drive<Value>(clock: ManualClock, promise: Promise<Value>): Promise<Value> {
  let isOver = false;
  const ended = promise.finally(() => { isOver = true; });
  ended.catch(() => {});
  for (let round = 0; ; round += 1) {
    await settle();
    if (isOver) return ended;
    if (round === 4000) throw new Error("it does not end");
    clock.advance(0.05);
  }
}

/** A request that a scripted service got. */
export interface Asked {
  method: string;
  url: URL;
  headers: Headers;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  body: any;
}

export type Reaction = (asked: Asked) => Response | Promise<Response>;

/** A scripted service: a reaction for each request; the last one repeats. */
export class Script {
  readonly asked: Asked[] = [];
  reactions: Reaction[];

  constructor(...reactions: Reaction[]) {
    this.reactions = reactions;
  }

  readonly fetch: typeof fetch = async (target, init) => {
    const asked: Asked = {
      method: init?.method ?? "GET", url: new URL(String(target)),
      headers: new Headers(init?.headers),
      body: init?.body ? JSON.parse(String(init.body)) : undefined,
    };
    expect(init?.redirect, "manual");
    this.asked.push(asked);
    const [react] = this.reactions;
    if (this.reactions.length > 1) this.reactions.shift();
    return react!(asked);
  };

  /** Method and path of all requests. */
  get lines(): string[] {
    return this.asked.map(({ method, url }) => `${method} ${decodeURIComponent(url.pathname)}`);
  }

  get keys(): (string | null)[] {
    return this.asked.map(({ headers }) => headers.get("Idempotency-Key"));
  }
}

export function json(value: unknown, tag?: number): Reaction {
  const headers: Record<string, string> = { "Content-Type": "application/json" };
  if (tag !== undefined) headers["ETag"] = `"${tag}"`;
  return () => new Response(JSON.stringify(value), { headers });
}

export function made(tag?: number): Reaction {
  return () => new Response(null, { status: 204, headers: tag ? { ETag: `"${tag}"` } : {} });
}

export function refusal(status: number, type: string, more: object = {}): Reaction {
  return () => new Response(JSON.stringify({ type: `/problems/${type}`, status, ...more }), {
    status, headers: { "Content-Type": "application/problem+json" },
  });
}

/** An answer of a proxy or of another service. */
export function page(
  status: number, headers: Record<string, string> = {}, text = "<html>",
): Reaction {
  return () => new Response(status === 204 ? null : text, {
    status, headers: { "Content-Type": "text/html", ...headers },
  });
}

/** Never answers. */
export const silent: Reaction = () => new Promise(() => {});

/** A failed request in Node's form. */
export function failed(code: string): Reaction {
  return () => { throw new TypeError("fetch failed", { cause: { code, message: code } }); };
}

/** A body that does not end. */
export const dripping: Reaction = () => new Response(
  new ReadableStream({ start: flow => flow.enqueue(new Uint8Array(1)) }),
  { headers: { "Content-Type": "application/json", ETag: '"1"' } });
