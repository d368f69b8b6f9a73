/**
 * Makes the calls of the TypeScript client that JSON lines on stdin request; answers go to stdout.
 * Calls run at the same time. `typescript_package.build_driver` compiles it with the package.
 */

import {
  Cancelled, Claim, Latchkey, LatchkeyError, Lease, parse, stringify,
} from "./latchkey/index.js";
import type { Json, Property, Step, WatchEvent } from "./latchkey/index.js";

declare const process: {
  stdin: AsyncIterable<string> & { setEncoding(name: string): void };
  stdout: { write(text: string): void };
  exit(): void;
};

// The protocol defines the types of arguments, and the suite keeps to them.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Arguments = Record<string, any>;
type Call = (args: Arguments, signal: AbortSignal) => unknown;

let client: Latchkey | undefined;
let count = 0;
const leases = new Map<number, Lease>();
interface Watching {
  events: AsyncGenerator<WatchEvent>;
  /** Requested before the suite asks, so that the watch begins at once. */
  first: Promise<IteratorResult<WatchEvent>> | undefined;
  abort: AbortController;
}

const watches = new Map<number, Watching>();
const running = new Map<number, AbortController>();

function opened(): Latchkey {
  if (!client) throw new Error("there is no client yet");
  return client;
}

/** Arguments of the protocol under the client's names for them; without undefined ones. */
function options(args: Arguments, names: Record<string, string>, signal: AbortSignal): Arguments {
  const found: Arguments = { signal };
  for (const [name, own] of Object.entries(names)) {
    if (args[name] !== undefined && args[name] !== null) found[own] = args[name];
  }
  return found;
}

const writing = { ttl: "ttl", if_revision: "ifRevision", if_absent: "ifAbsent" };

function keep(lease: Lease): Arguments {
  count += 1;
  leases.set(count, lease);
  return lease instanceof Claim
    ? { lease: count, name: lease.job.name, value: lease.value }
    : { lease: count, token: lease.token };
}

function held<Kind extends Lease>(args: Arguments): Kind {
  const lease = leases.get(args["lease"]);
  if (!lease) throw new Error("there is no such lease");
  return lease as Kind;
}

const pair = (found: Property | undefined) =>
  found ? { value: found.value, revision: found.revision } : null;

const calls: Record<string, Call> = {
  async open(args) {
    await client?.close();
    const [url, ...urls] = args["urls"];
    const names = { token: "token", timeout: "timeout", patience: "patience", keys: "keys" };
    const { signal, ...rest } = options(args, names, new AbortController().signal);
    client = new Latchkey(url, { urls, ...rest });
    return null;
  },
  get: async ({ name }, signal) => pair(await opened().get(name, undefined, { signal })),
  find: async ({ name }, signal) => pair(await opened().find(name, { signal })),
  put: (args, signal) =>
    opened().put(args["name"], args["value"], options(args, writing, signal)),
  delete: (args, signal) => opened().delete(args["name"], options(args, writing, signal)),
  increment: ({ name, by }, signal) => opened().increment(name, by ?? 1, { signal }),
  merge: ({ name, patch }, signal) => opened().merge(name, patch, { signal }),
  touch: (args, signal) =>
    opened().touch(args["name"], args["ttl"], options(args, writing, signal)),
  wait: async ({ name, after, wait }, signal) =>
    pair(await opened().wait(name, after, wait, { signal })),
  get_many: async ({ names }, signal) => Object.fromEntries(
    [...await opened().getMany(names, { signal })].map(([name, { value }]) => [name, value])),
  async list({ prefix }, signal) {
    const names: string[] = [];
    for await (const row of opened().list(prefix, { signal })) names.push(row.name);
    return names;
  },
  count: ({ prefix }, signal) => opened().count(prefix, { signal }),
  delete_prefix: ({ prefix }, signal) => opened().deletePrefix(prefix, { signal }),
  transaction: ({ then, when, otherwise, wait }, signal) => opened().transaction(
    { then, ...(when ? { if: when } : {}), ...(otherwise ? { else: otherwise } : {}) },
    wait ?? 0, { signal }),
  async pop({ prefix, wait }, signal) {
    const found = await opened().pop(prefix, wait ?? 0, { signal });
    return found ? { name: found.name, value: found.value } : null;
  },
  async claim(args, signal) {
    const names = { claims: "claims", ttl: "ttl", wait: "wait" };
    const claim = await opened().claim(args["jobs"], options(args, names, signal) as never);
    return claim ? keep(claim) : null;
  },
  finish: async (args, signal) => {
    await held<Claim>(args).finish((args["steps"] ?? []) as Step[], { signal });
    return null;
  },
  abandon: async (args, signal) => {
    await held<Claim>(args).abandon({ signal });
    return null;
  },
  acquire: async (args, signal) => keep(await opened().acquire(
    args["name"], options(args, { ttl: "ttl", wait: "wait", value: "value" }, signal))),
  release: (args, signal) => held(args).release({ signal }),
  remaining: args => held(args).remaining,
  async lost(args, signal) {
    const lease = held(args);
    while (!lease.signal.aborted && !signal.aborted) {
      await new Promise(resolve => {
        lease.signal.addEventListener("abort", resolve);
        signal.addEventListener("abort", resolve);
      });
    }
    return lease.signal.aborted;
  },
  watch(args) {
    const abort = new AbortController();
    const names = { prefixes: "prefixes", names: "names", initial: "initial", after: "after",
                    observer: "observer" };
    count += 1;
    const events = opened().watch(options(args, names, abort.signal));
    const first = events.next();
    first.catch(() => {});
    watches.set(count, { events, first, abort });
    return { watch: count };
  },
  async next({ watch }, signal) {
    const ended = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(new Cancelled("by the signal"))));
    const one = watches.get(watch)!;
    const event = one.first ?? one.events.next();
    one.first = undefined;
    const { done, value } = await Promise.race([event, ended]);
    if (done) throw new LatchkeyError("the watch is over");
    const { type, name, revision, value: found, id } = value;
    return { type, name, revision, value: found ?? null, id: id ?? null };
  },
  close_watch({ watch }) {
    watches.get(watch)?.abort.abort();
    return null;
  },
  cancel({ call }) {
    running.get(call)?.abort();
    return null;
  },
  async close() {
    await client?.close();
    return null;
  },
};

async function answer(line: string): Promise<void> {
  const { id, call, args } = parse(line) as { id: number; call: string; args?: Arguments };
  const abort = new AbortController();
  running.set(id, abort);
  let found: Json;
  try {
    const made = calls[call];
    found = made
      ? { id, ok: (await made(args ?? {}, abort.signal) ?? null) as Json }
      : { id, error: "NotSupported", text: call };
  } catch (error) {
    const { name, message, stack } = error as Error;
    found = { id, error: name, text: error instanceof LatchkeyError ? message : String(stack) };
  }
  running.delete(id);
  process.stdout.write(stringify(found) + "\n");
}

async function main(): Promise<void> {
  process.stdin.setEncoding("utf8");
  let rest = "";
  for await (const piece of process.stdin) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop()!;
    for (const line of lines) void answer(line);
  }
  process.exit();
}

void main();
