/**
 * A client for Latchkey in one file, for browsers and Node 18 or later. Copy it into your project;
 * it needs nothing else. Its types can be stripped: Node 22.18 or later runs it as it is.
 *
 *     import { Latchkey } from "./latchkey.js";
 *
 *     const client = new Latchkey("http://127.0.0.1:8080");
 *     await client.put("greeting", { text: "hello" });
 *     console.log((await client.get("greeting")).value);
 *
 * Times are in seconds.
 *
 * **Repeats.** A request that finds no service, loses its answer or is refused with 429 or 503 is
 * sent again, until `patience` is over. A write has an `Idempotency-Key`, so the service makes it
 * once. While the service has no room for more keys, writes are sent without one. A write without a
 * key is not sent again when its answer is lost: it throws `OutcomeUnknown`. Say `keys: false` if
 * the service ignores keys (`--idempotency-seconds 0`).
 *
 * Length: one file, so that it can be copied.
 */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A property. Without `ttl` it does not expire. */
export interface Property<Value = Json> {
  name: string;
  revision: number;
  created: number;
  value: Value;
  ttl?: number;
}

interface Lifetime {
  ttl?: number;
  "ttl-if-new"?: number;
}

/** A step of a transaction. */
export type Step =
  | ({ put: string; value: unknown } & Lifetime)
  | ({ merge: string; patch: unknown } & Lifetime)
  | ({ increment: string; by?: number } & Lifetime)
  | { touch: string; ttl: number }
  | { delete: string }
  | { get: string }
  | { pop: string }
  | { pop: string; claim: string; ttl: number; value?: unknown }
  | { "delete-prefix": string }
  | { count: string };

/** A condition of a transaction: a name and one test. */
export type Condition = { name: string } & (
  | { revision: number }
  | { exists: boolean }
  | { absent: boolean }
  | { equals: unknown }
  | { "<": number | string }
  | { "<=": number | string }
  | { ">": number | string }
  | { ">=": number | string }
  | { "!=": unknown });

/** The property behind a step, or its count. Revision 0: there is no such property. */
export interface Result {
  name: string;
  revision: number;
  created?: number;
  value?: Json;
  ttl?: number;
  count?: number;
}

/** What a transaction did. `succeeded`: its conditions held. `results`: one for each step. */
export interface Outcome {
  succeeded: boolean;
  revision: number;
  results: Result[];
}

/**
 * An event of a watch.
 *
 * `put`, `delete` and `expire` are changes. `ready`: the current state is complete. `gap`: forget
 * everything; the current state follows as `put` events, and then `ready`. `previous` is the value
 * before, if the watch asked for it and there was one. There is no `id` within the current state.
 * `endsCommit` is false if more events of the same transaction follow.
 */
export interface WatchEvent {
  type: "put" | "delete" | "expire" | "ready" | "gap";
  name: string;
  revision: number;
  created?: number;
  value?: Json;
  ttl?: number;
  reason?: string;
  previous?: Json;
  id?: string;
  endsCommit: boolean;
}

/** What this module throws. */
export class LatchkeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** The service was not reached or did not answer in time. Nothing was changed. */
export class Unreachable extends LatchkeyError {}
/** The write may have been made, or may still be made: its answer was lost. */
export class OutcomeUnknown extends LatchkeyError {}
/** A lock, an election or a claim was lost while the work went on. */
export class LeaseLost extends LatchkeyError {}
/** The lock was held by others the whole time. */
export class NotAcquired extends LatchkeyError {}
/** Another watch has the same `observer`. Do not watch again. */
export class Replaced extends LatchkeyError {}

/**
 * The service refused the request: nothing was changed.
 *
 * `type` is the name of the problem, such as "precondition-failed": decide by it, or by the class.
 * `detail` is for people.
 */
export class Problem extends LatchkeyError {
  readonly status: number;
  readonly type: string;
  readonly detail: string;
  readonly retryAfter: number;

  constructor(status: number, type: string, detail: string, retryAfter: number) {
    super(`${status} ${type}: ${detail}`);
    this.status = status;
    this.type = type;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** There is no property with this name. */
export class NotFound extends Problem {}
/** The property has another revision, or exists although `ifAbsent` was asked for. */
export class PreconditionFailed extends Problem {}
/** The value cannot be incremented, or the sum has more than 64 bits. */
export class NotAnInteger extends Problem {}
/** The history does not hold this revision. */
export class Gone extends Problem {}
/** There is no token that counts. */
export class Unauthorized extends Problem {}
/** The token does not allow this. */
export class Forbidden extends Problem {}
/** The store, a quota or the disk is full. */
export class Full extends Problem {}
/** The service refuses for now: a rate, a share, a bound, or it starts or stops. */
export class Busy extends Problem {}

const problems: Record<string, typeof Problem> = {
  "not-found": NotFound, "precondition-failed": PreconditionFailed,
  "not-an-integer": NotAnInteger, overflow: NotAnInteger, gone: Gone,
  unauthorized: Unauthorized, forbidden: Forbidden, "store-full": Full,
  "quota-exceeded": Full, "disk-full": Full,
};
const noKeyLeft = ["client-share-taken", "too-many-idempotency-keys"];
const waitSecondsMax = 60;
const keylessSeconds = 10;
/** Of its time to live. The rest is for a program that learns late that its time is over. */
const leaseShare = 0.9;

export interface Options {
  /** Sent as `Authorization: Bearer`. */
  token?: string;
  /** Seconds for each attempt, 10 if left out. */
  timeout?: number;
  /** Seconds for further attempts, 10 if left out. */
  patience?: number;
  /** Whether writes have an `Idempotency-Key`; true if left out. */
  keys?: boolean;
  /**
   * A `fetch` of your own, for proxies or client certificates. Node takes certificates to trust
   * from the environment: `NODE_EXTRA_CA_CERTS=ca.pem`.
   */
  fetch?: typeof fetch;
  /** For tests: a clock that they drive by hand. */
  clock?: Clock;
}

/** The time, and what happens later. */
export interface Clock {
  /** Seconds of a clock that is never set back. */
  now(): number;
  /** Calls a function so many seconds later. Returns a function that takes that back. */
  later(seconds: number, call: () => void): () => void;
}

export interface PutOptions {
  /** Seconds until it expires; without, it does not. */
  ttl?: number;
  /** As `ttl`, only if the property is created. */
  ttlIfNew?: number;
  /** Throws `PreconditionFailed` if the property has another revision. */
  ifRevision?: number;
  /** Throws `PreconditionFailed` if the property exists. */
  ifAbsent?: boolean;
}

export interface WatchOptions {
  /** Names with these prefixes. Without prefixes and names: all. */
  prefixes?: string[];
  names?: string[];
  /** The current state comes first, as `put` events, and then `ready`. */
  initial?: boolean;
  /** Begins behind this revision or id of an event. */
  after?: number | string;
  /** Events have the value before. */
  previous?: boolean;
  /** Ends an older watch with this name. */
  observer?: string;
  /** Connects again after so many seconds without a sign: 60 if left out. */
  silence?: number;
  /** Ends the watch. */
  signal?: AbortSignal;
}

export interface LockOptions {
  /** Seconds for which it is held without renewal, 10 if left out. */
  ttl?: number;
  /** Seconds to wait for it, without limit if left out. */
  wait?: number;
  /** The value of the property, for others to read. */
  value?: unknown;
}

export interface ClaimOptions {
  /** The prefix of the claims. */
  claims: string;
  /** Seconds after which the job comes back if this program dies, 30 if left out. */
  ttl?: number;
  /** Seconds to wait for a job. */
  wait?: number;
  /** The value of the claim, for others to read. */
  value?: unknown;
}

interface Request {
  params?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  wait?: number;
  /** It can be made twice. */
  safe?: boolean;
  /** Seconds for all attempts, instead of the client's. */
  limit?: number;
}

interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

type PopStep = { pop: string; claim: string; ttl: number; value?: unknown };

/** A client of one service. */
export class Latchkey {
  private readonly url: string;
  /** Used by leases; not for applications. */
  readonly clock: Clock;
  private readonly options: Options;
  private keylessUntil = 0;

  constructor(url = "http://127.0.0.1:8080", options: Options = {}) {
    this.url = url.replace(/\/+$/, "");
    this.options = options;
    this.clock = options.clock ?? machineClock;
  }

  // One property

  /** Reads a property, now or as of a revision. Throws `NotFound`, and `Gone` for the past. */
  async get<Value = Json>(name: string, revision?: number): Promise<Property<Value>> {
    return property<Value>(name, await this.ask("GET", path(name), { params: { revision } }));
  }

  /** Reads a property; undefined if there is none. */
  async find<Value = Json>(name: string): Promise<Property<Value> | undefined> {
    try {
      return await this.get<Value>(name);
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    }
  }

  /** Creates or replaces a property. Returns the new revision. */
  async put(name: string, value: unknown, options: PutOptions = {}): Promise<number> {
    const { ifRevision, ifAbsent } = options;
    return revisionOf(await this.ask("PUT", path(name), {
      params: lifetime(options), body: value, headers: conditions(ifRevision, ifAbsent),
    }));
  }

  /** Deletes a property. Returns whether there was one. */
  async delete(name: string, options: { ifRevision?: number } = {}): Promise<boolean> {
    try {
      await this.ask("DELETE", path(name), { headers: conditions(options.ifRevision) });
      return true;
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  /** Adds to an integer, from 0 if there is none. Returns the sum. Throws `NotAnInteger`. */
  async increment(
    name: string, by = 1, options: { ttl?: number; ttlIfNew?: number } = {},
  ): Promise<number> {
    const target = path(name) + "/increment";
    const answer = await this.ask("POST", target, { params: lifetime(options), body: { by } });
    return Number(answer.text);
  }

  /** Merges a JSON merge patch (RFC 7396); null removes a member. Returns the new value. */
  async merge<Value = Json>(
    name: string, patch: unknown, options: Omit<PutOptions, "ifAbsent"> = {},
  ): Promise<Value> {
    const answer = await this.ask("PATCH", path(name), {
      params: lifetime(options), body: patch,
      headers: {
        ...conditions(options.ifRevision), "Content-Type": "application/merge-patch+json",
      },
    });
    return JSON.parse(answer.text) as Value;
  }

  /** Lets the time to live begin anew. Value and revision stay. Returns the revision. */
  async touch(name: string, ttl: number, options: { ifRevision?: number } = {}): Promise<number> {
    const headers = conditions(options.ifRevision);
    const target = path(name) + "/touch";
    return revisionOf(await this.ask("POST", target, { params: { ttl }, headers, safe: true }));
  }

  /**
   * Waits until the property's revision is above `after`; undefined after `wait` seconds. With
   * `after` 0 it also waits for a property that does not exist yet; otherwise a missing one throws
   * `NotFound`.
   */
  async wait<Value = Json>(
    name: string, after = 0, wait = 30,
  ): Promise<Property<Value> | undefined> {
    const end = this.clock.now() + wait;
    for (;;) {
      // The service ends a poll before its time, above all one behind a proxy.
      const left = pieceOf(end - this.clock.now());
      try {
        const answer = await this.ask("GET", path(name), {
          // Proxies want a condition where the answer can be 304.
          params: { after, wait: left }, wait: left, headers: { "If-None-Match": `"${after}"` },
        });
        if (answer.status !== 304) return property<Value>(name, answer);
      } catch (error) {
        if (!(error instanceof NotFound) || after !== 0) throw error;
      }
      if (this.clock.now() >= end) return undefined;
    }
  }

  // Several properties

  /**
   * The properties whose names start with the prefix, sorted by name, page by page. A page is the
   * state at one revision; two pages need not be.
   */
  async *list(prefix = "", options: { values?: boolean } = {}): AsyncGenerator<Property> {
    let after: string | undefined;
    do {
      const page = await this.json<{ properties: Property[]; next?: string }>(
        "GET", "/v1/properties", { params: { prefix, limit: 1000, after, ...options } });
      for (const row of page.properties) yield row;
      after = page.next;
    } while (after !== undefined);
  }

  /** Reads at most 128 properties at one revision. Those that do not exist are left out. */
  async getMany(names: string[]): Promise<Map<string, Property>> {
    if (names.length === 0) return new Map();
    const page = await this.json<{ properties: Property[] }>(
      "GET", "/v1/properties", { params: { name: names } });
    return new Map(page.properties.map(row => [row.name, row]));
  }

  /** How many names start with the prefix. */
  async count(prefix = ""): Promise<number> {
    return (await this.json<{ count: number }>("GET", "/v1/count", { params: { prefix } })).count;
  }

  /**
   * Deletes all properties whose names start with the prefix. Returns how many. Each 1000 are one
   * commit; it is not one step if there are more.
   */
  async deletePrefix(prefix: string): Promise<number> {
    let total = 0;
    for (;;) {
      const answer = await this.json<{ count: number; more: boolean }>(
        "DELETE", "/v1/properties", { params: { prefix, limit: 1000 } });
      total += answer.count;
      if (!answer.more) return total;
    }
  }

  /**
   * Makes the steps of `then` if all conditions of `if` hold, else those of `else`: all at one
   * revision, or none. With `wait`, at most 60 seconds, it waits until the conditions hold and each
   * `pop` finds something; all steps wait, not only the pop.
   */
  async transaction(
    transaction: { if?: Condition[]; then?: Step[]; else?: Step[] }, wait = 0,
  ): Promise<Outcome> {
    const params = wait > 0 ? { wait: whole(wait) } : {};
    return this.json("POST", "/v1/transactions", { params, body: transaction, wait });
  }

  // Queues

  /**
   * Removes and returns the first property, by name, under the prefix; undefined if there is none
   * for `wait` seconds. If this program dies then, the property is lost: `work` and `claim` are for
   * jobs that must be done.
   */
  async pop(prefix: string, wait = 0): Promise<Property | undefined> {
    return (await this.popped({ pop: prefix }, wait))?.job;
  }

  /**
   * Takes the first job under the prefix that has no claim, or undefined. The claim is a property
   * under the prefix `claims` with a time to live. It is renewed until `finish` or `abandon`.
   */
  async claim(jobs: string, options: ClaimOptions): Promise<Claim | undefined> {
    const { claims, ttl = 30, wait = 0, value = null } = options;
    const step = { pop: jobs, claim: claims, ttl, value };
    for (;;) {
      const popped = await this.popped(step, wait);
      if (!popped) return undefined;
      const claim = new Claim(this, popped.job, step, popped.revision, popped.sent);
      if (await claim.start()) return claim;
    }
  }

  /**
   * Calls `handle` for one job after the other. Returns how many were finished. Ends when there is
   * no job for `wait` seconds: without it, never. A job is finished, and the next one taken, when
   * `handle` returns; the steps that it returns are made in the same transaction, and thus once for
   * each job. If it throws, the job comes back at once and the error is thrown here. `handle` is
   * called at least once for a job, and again if its claim was lost.
   */
  async work(
    jobs: string, options: ClaimOptions,
    handle: (claim: Claim) => Step[] | void | Promise<Step[] | void>,
  ): Promise<number> {
    const next = () => this.claim(jobs, { wait: Infinity, ...options });
    let count = 0;
    let claim = await next();
    while (claim) {
      let steps: Step[] | void;
      try {
        steps = await handle(claim);
      } catch (error) {
        await claim.abandon();
        throw error;
      }
      try {
        claim = await claim.finishAndClaim(...(steps ?? []));
        count += 1;
      } catch (error) {
        if (!(error instanceof LeaseLost)) throw error;
        claim = undefined;
      }
      claim ??= await next();
    }
    return count;
  }

  private async popped(
    step: Step, wait: number,
  ): Promise<{ job: Property; revision: number; sent: number } | undefined> {
    const end = this.clock.now() + wait;
    for (;;) {
      const sent = this.clock.now();
      const outcome = await this.transaction({ then: [step] }, pieceOf(end - sent));
      const job = found(outcome.results[0]);
      if (job) return { job, revision: outcome.revision, sent };
      if (this.clock.now() >= end) return undefined;
    }
  }

  // Locks

  /** As `lock`, without a function to call: call `release` of the lease. */
  async acquire(name: string, options: LockOptions = {}): Promise<Lease> {
    const { ttl = 10, wait = Infinity, value = null } = options;
    const end = this.clock.now() + wait;
    for (;;) {
      const sent = this.clock.now();
      const outcome = await this.transaction(
        { if: [{ name, absent: true }], then: [{ put: name, value, ttl }] },
        pieceOf(end - sent));
      if (outcome.succeeded) {
        const lease = new Lease(this, name, outcome.revision, ttl, sent);
        if (await lease.start()) return lease;
      } else if (this.clock.now() >= end) {
        throw new NotAcquired(name);
      }
    }
  }

  /**
   * Calls `hold` while it holds a lock: a property that one client creates and that expires without
   * renewal. It is renewed by a timer. If it is lost, `signal` of the lease is aborted, and `lock`
   * throws `LeaseLost` when `hold` returns. Clients that wait get it in their order.
   */
  async lock<Value>(
    name: string, options: LockOptions, hold: (lease: Lease) => Value | Promise<Value>,
  ): Promise<Value> {
    const lease = await this.acquire(name, options);
    let value: Value;
    try {
      value = await hold(lease);
    } catch (error) {
      await lease.release();
      throw error;
    }
    if (!(await lease.release())) throw new LeaseLost(name);
    return value;
  }

  /**
   * Calls `lead` while it leads: `lock` with the candidate as its value, for others to read.
   * `find(name)` is the leader, and a watch of the name tells when it changes.
   */
  async election<Value>(
    name: string, candidate: unknown, options: Omit<LockOptions, "value">,
    lead: (lease: Lease) => Value | Promise<Value>,
  ): Promise<Value> {
    return this.lock(name, { ...options, value: candidate }, lead);
  }

  // Watches

  /**
   * The changes, without loss and repeat. It connects again whenever it is cut off, and throws what
   * does not pass, such as `Forbidden`. It ends with `signal`, or when the loop over it is left.
   */
  async *watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent> {
    const cursor = {
      id: options.after === undefined ? undefined : String(options.after), isPartial: false,
    };
    let pause = 0.1;
    while (!options.signal?.aborted) {
      if (cursor.isPartial && cursor.id === undefined) {
        // The stream was cut within the current state, which comes again.
        yield { type: "gap", name: "", revision: 0, endsCommit: true };
      }
      let delay = pause * (0.5 + Math.random() / 2);
      try {
        for await (const event of this.connect(options, cursor)) {
          pause = 0.1;
          cursor.isPartial = true;
          yield event;
        }
      } catch (error) {
        if (error instanceof Busy) delay = Math.max(delay, error.retryAfter);
        else if (error instanceof LatchkeyError) throw error;
      }
      await sleep(this.clock, delay, options.signal);
      pause = Math.min(pause * 2, 5);
    }
  }

  /** All values by name, anew after each commit: never half of a transaction. */
  async *states(
    options: Omit<WatchOptions, "initial" | "after"> = {},
  ): AsyncGenerator<Map<string, Json>> {
    let state = new Map<string, Json>();
    let isWhole = false;
    for await (const event of this.watch({ ...options, initial: true })) {
      if (event.type === "gap") {
        state = new Map();
        isWhole = false;
      } else if (event.type === "put") {
        state.set(event.name, event.value as Json);
      } else if (event.type === "ready") {
        isWhole = true;
      } else {
        state.delete(event.name);
      }
      if (isWhole && event.endsCommit) yield new Map(state);
    }
  }

  private async *connect(
    options: WatchOptions, cursor: { id?: string | undefined },
  ): AsyncGenerator<WatchEvent> {
    const abort = new AbortController();
    const end = () => abort.abort();
    options.signal?.addEventListener("abort", end);
    let cancel = this.clock.later(this.options.timeout ?? 10, end);
    try {
      const headers = this.headers({ Accept: "text/event-stream" });
      if (cursor.id !== undefined) headers["Last-Event-ID"] = cursor.id;
      const { prefixes, names, initial, previous, observer } = options;
      const target = "/v1/watch" + query({
        prefix: prefixes, name: names, initial: initial || undefined,
        previous: previous || undefined, observer,
      });
      const answer = await this.fetch(target, { headers, signal: abort.signal });
      if (answer.status !== 200) throw problem(answer, await answer.text());
      const reader = answer.body?.getReader();
      if (!reader) return;
      const parser = new EventParser(cursor);
      for (;;) {
        cancel();
        cancel = this.clock.later(options.silence ?? 60, end);
        const { done, value } = await reader.read();
        if (done) return;
        yield* parser.events(value);
      }
    } finally {
      cancel();
      options.signal?.removeEventListener("abort", end);
      abort.abort();
    }
  }

  // Requests

  private fetch(target: string, init: RequestInit): Promise<Response> {
    // Browsers want `fetch` to be called as a function of the window.
    const call = this.options.fetch ?? globalThis.fetch;
    return call(this.url + target, { cache: "no-store", ...init });
  }

  private headers(more: Record<string, string> = {}): Record<string, string> {
    const { token } = this.options;
    return token === undefined ? { ...more } : { Authorization: `Bearer ${token}`, ...more };
  }

  private async json<Value>(method: string, target: string, request: Request): Promise<Value> {
    return JSON.parse((await this.ask(method, target, request)).text) as Value;
  }

  /** Sends a request until it has an answer that counts. Used by leases; not for applications. */
  async ask(method: string, target: string, request: Request = {}): Promise<Answer> {
    const { wait = 0, limit, body } = request;
    const { timeout = 10, patience = 10, keys = true } = this.options;
    const safe = request.safe || method === "GET";
    const headers = this.headers(request.headers);
    if (body !== undefined) headers["Content-Type"] ??= "application/json";
    if (keys && !safe && this.clock.now() >= this.keylessUntil) {
      headers["Idempotency-Key"] = randomKey();
    }
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    const end = this.clock.now() + (limit ?? patience + wait);
    let pause = 0.05;
    let inDoubt = false;
    for (;;) {
      let failure: LatchkeyError;
      let delay = pause * (0.5 + Math.random() / 2);
      const left = end - this.clock.now();
      const seconds = limit === undefined ? timeout + wait : Math.min(timeout, left);
      try {
        const answer = await this.attempt(target + query(request.params ?? {}), init, seconds);
        if (answer.status < 400) return answer;
        const refused = problem(answer, answer.text);
        if (noKeyLeft.includes(refused.type) && headers["Idempotency-Key"] && !inDoubt) {
          delete headers["Idempotency-Key"];
          this.keylessUntil = this.clock.now() + keylessSeconds;
          continue;
        }
        if (refused.type === "answer-not-kept") throw new OutcomeUnknown(refused.message);
        if (refused.type === "outcome-unknown") inDoubt = !safe;
        else if (!(refused instanceof Busy)) throw refused;
        failure = refused;
        delay = Math.max(delay, refused.retryAfter);
      } catch (error) {
        if (error instanceof LatchkeyError) throw error;
        inDoubt ||= !safe && !neverSent(error);
        failure = new Unreachable(`${this.url}: ${error}`);
      }
      const mayRepeat = !inDoubt || headers["Idempotency-Key"] !== undefined;
      if (!mayRepeat || this.clock.now() + delay > end) {
        throw inDoubt ? new OutcomeUnknown(failure.message) : failure;
      }
      await sleep(this.clock, delay);
      pause = Math.min(pause * 2, 2);
    }
  }

  private async attempt(target: string, init: RequestInit, seconds: number): Promise<Answer> {
    const abort = new AbortController();
    const cancel = this.clock.later(seconds, () => abort.abort());
    try {
      const answer = await this.fetch(target, { ...init, signal: abort.signal });
      return { status: answer.status, headers: answer.headers, text: await answer.text() };
    } finally {
      cancel();
    }
  }
}

/**
 * A property that this program holds until `release`, or until it is lost.
 *
 * `token` is its fencing token: each later holder has a greater one. `signal` is aborted when the
 * lease is lost, or could not be renewed within nine tenths of its time to live, counted from
 * before the last request that renewed it.
 */
export class Lease {
  readonly name: string;
  readonly token: number;
  readonly signal: AbortSignal;
  protected readonly client: Latchkey;
  private readonly ttl: number;
  private readonly abort = new AbortController();
  private cancel = (): void => {};
  private end: number;
  private isReleased = false;

  constructor(client: Latchkey, name: string, token: number, ttl: number, since: number) {
    this.client = client;
    this.name = name;
    this.token = token;
    this.ttl = ttl;
    this.signal = this.abort.signal;
    this.end = since + ttl * leaseShare;
  }

  /** A condition for transactions: the lease is still held. */
  get guard(): Condition {
    return { name: this.name, revision: this.token };
  }

  /** Seconds for which the lease is surely held; 0 if it is lost. */
  get remaining(): number {
    return this.signal.aborted ? 0 : Math.max(0, this.end - this.client.clock.now());
  }

  /** Throws `LeaseLost` if the lease is lost. */
  check(): void {
    if (this.remaining === 0) throw new LeaseLost(this.name);
  }

  /** Gives it back. Returns whether it was held until now. */
  async release(): Promise<boolean> {
    this.stop();
    try {
      return await this.client.delete(this.name, { ifRevision: this.token });
    } catch (error) {
      if (error instanceof PreconditionFailed) return false;
      // It expires by itself.
      if (error instanceof LatchkeyError) return this.remaining > 0;
      throw error;
    }
  }

  /** Begins to renew. False if it was lost while the answer was under way. For this file. */
  async start(): Promise<boolean> {
    if (this.end - this.client.clock.now() < this.ttl * 2 / 3) await this.renew();
    this.keep();
    return this.remaining > 0;
  }

  protected stop(): void {
    this.isReleased = true;
    this.cancel();
  }

  protected lose(): void {
    this.abort.abort();
  }

  private keep(): void {
    if (this.isReleased) return;
    if (this.remaining === 0) {
      this.lose();
      return;
    }
    const { remaining, ttl } = this;
    const pause = remaining > ttl / 2 ? ttl / 3 : Math.min(0.1, remaining);
    this.cancel = this.client.clock.later(
      pause, () => void this.renew().then(() => this.keep()));
  }

  private async renew(): Promise<void> {
    const sent = this.client.clock.now();
    try {
      await this.client.ask("POST", path(this.name) + "/touch", {
        params: { ttl: this.ttl }, headers: conditions(this.token), safe: true,
        limit: this.end - sent,
      });
      this.end = sent + this.ttl * leaseShare;
    } catch (error) {
      if (error instanceof NotFound || error instanceof PreconditionFailed) this.end = sent;
    }
  }
}

/** A job that this program works on. */
export class Claim extends Lease {
  readonly job: Property;
  private readonly step: PopStep;

  constructor(client: Latchkey, job: Property, step: PopStep, token: number, since: number) {
    super(client, step.claim + job.name.slice(step.pop.length), token, step.ttl, since);
    this.job = job;
    this.step = step;
  }

  /** The value of the job. */
  get value(): Json {
    return this.job.value;
  }

  /**
   * Removes the job, and makes further steps in the same transaction. Throws `LeaseLost` if the
   * claim was lost: nothing was done, and another program has the job.
   */
  async finish(...steps: Step[]): Promise<void> {
    await this.finishWith(steps);
  }

  /** As `finish`, and takes the next job in the same transaction; undefined if there is none. */
  async finishAndClaim(...steps: Step[]): Promise<Claim | undefined> {
    const sent = this.client.clock.now();
    const outcome = await this.finishWith([...steps, this.step]);
    const job = found(outcome.results[outcome.results.length - 1]);
    if (!job) return undefined;
    const claim = new Claim(this.client, job, this.step, outcome.revision, sent);
    return (await claim.start()) ? claim : undefined;
  }

  /** Gives the job back, for another program to take it at once. */
  async abandon(): Promise<void> {
    await this.release();
  }

  private async finishWith(steps: Step[]): Promise<Outcome> {
    this.stop();
    const outcome = await this.client.transaction({
      if: [this.guard], then: [{ delete: this.job.name }, { delete: this.name }, ...steps],
    });
    if (!outcome.succeeded) {
      this.lose();
      throw new LeaseLost(this.name);
    }
    return outcome;
  }
}

/** Server-sent events. Lines end with a line feed only, as the service sends them. */
class EventParser {
  private readonly decoder = new TextDecoder();
  private rest = "";
  private type = "";
  private data = "";
  private id: string | undefined;
  private readonly cursor: { id?: string | undefined };

  constructor(cursor: { id?: string | undefined }) {
    this.cursor = cursor;
  }

  *events(piece: Uint8Array): Generator<WatchEvent> {
    const lines = (this.rest + this.decoder.decode(piece, { stream: true })).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") this.type = text;
      else if (field === "data") this.data = text;
      else if (field === "id") this.id = text;
      else if (line === "") yield* this.end();
    }
  }

  private *end(): Generator<WatchEvent> {
    const { type, data, id } = this;
    this.type = this.data = "";
    this.id = undefined;
    if (id !== undefined) this.cursor.id = id;
    if (type === "replaced") throw new Replaced("another watch has this observer");
    if (!["put", "delete", "expire", "ready", "gap"].includes(type)) return;
    const event = { name: "", ...JSON.parse(data), type, endsCommit: !id?.includes(".") };
    yield id === undefined ? event : { ...event, id };
  }
}

function problem(answer: { status: number; headers: Headers }, text: string): Problem {
  let body: { type?: unknown; detail?: unknown } = {};
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    // Not every refusal of a proxy is JSON.
  }
  const type = String(body.type ?? "").replace(/^.*\//, "");
  const isBusy = answer.status === 429 || answer.status === 503;
  const Kind = isBusy ? Busy : problems[type] ?? Problem;
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return new Kind(answer.status, type, String(body.detail ?? ""), retryAfter);
}

/** Whether a request has surely not been sent; only Node tells. */
function neverSent(error: unknown): boolean {
  const cause = (error as { cause?: { code?: unknown } } | undefined)?.cause;
  return ["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT"].includes(String(cause?.code));
}

/** `fetch` takes these two for steps to other paths, also if they are encoded. */
function path(name: string): string {
  if (name === "." || name === "..") {
    throw new LatchkeyError(`the name "${name}" cannot be reached with fetch`);
  }
  return "/v1/properties/" + encodeURIComponent(name);
}

/** The parameters that have a value; each of several. */
function query(params: Record<string, unknown>): string {
  const pairs = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) pairs.append(key, String(one));
  }
  const text = pairs.toString();
  return text === "" ? "" : "?" + text;
}

function lifetime(options: { ttl?: number; ttlIfNew?: number }): Record<string, unknown> {
  return { ttl: options.ttl, "ttl-if-new": options.ttlIfNew };
}

function conditions(ifRevision?: number, ifAbsent = false): Record<string, string> {
  return {
    ...(ifRevision === undefined ? {} : { "If-Match": `"${ifRevision}"` }),
    ...(ifAbsent ? { "If-None-Match": "*" } : {}),
  };
}

function property<Value>(name: string, answer: Answer): Property<Value> {
  const ttl = answer.headers.get("Latchkey-TTL");
  return {
    name, revision: revisionOf(answer), created: Number(answer.headers.get("Latchkey-Created")),
    value: JSON.parse(answer.text) as Value, ...(ttl === null ? {} : { ttl: Number(ttl) }),
  };
}

function revisionOf(answer: Answer): number {
  return Number((answer.headers.get("ETag") ?? "").replace(/"/g, ""));
}

function found(result: Result | undefined): Property | undefined {
  return result && result.revision > 0 ? { created: 0, value: null, ...result } : undefined;
}

/** In whole milliseconds, and not less: the shortest wait is one. */
function whole(seconds: number): number {
  return Math.ceil(1000 * seconds) / 1000;
}

/** What one request waits of a longer time. */
function pieceOf(seconds: number): number {
  return whole(Math.max(0, Math.min(seconds, waitSecondsMax)));
}

/** Not secret, only different from all others. */
function randomKey(): string {
  const part = () => Math.random().toString(36).slice(2);
  return part() + part() + part();
}

const machineClock: Clock = {
  now: () => performance.now() / 1000,
  later: (seconds, call) => {
    const timer = setTimeout(call, 1000 * seconds);
    return () => clearTimeout(timer);
  },
};

function sleep(clock: Clock, seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.later(signal?.aborted ? 0 : seconds, end);
    signal?.addEventListener("abort", end);
  });
}
