/** A client of one service. */

import { Unfit, object, property, revision, value } from "./answers.js";
import type { Answer } from "./answers.js";
import { collect, conditions, lifetime, only, readPage, unlessMissing } from "./calls.js";
import type { Page, Steps } from "./calls.js";
import { checkedSeconds, throwIfCancelled, whole } from "./clock.js";
import { InvalidValue, LeaseLost, NotAcquired } from "./errors.js";
import { Lease, claimOf, found, transact } from "./leases.js";
import type { Claim, Transaction } from "./leases.js";
import { Transport, path, query } from "./transport.js";
import type {
  CallOptions, ClaimOptions, Json, LockOptions, MergeOptions, Options, Outcome, Property,
  PutOptions, TimeOptions, WatchEvent, WatchOptions,
} from "./types.js";
import { Watches } from "./watches.js";

const waitSecondsMax = 60;
const namesMax = 128;
/** Longer paths are refused by the service, and by proxies. */
const targetLengthMax = 3000;

export class Latchkey {
  readonly #transport: Transport;
  readonly #watches: Watches;

  constructor(url = "http://127.0.0.1:8080", options: Options = {}) {
    this.#transport = new Transport([url, ...options.urls ?? []], options);
    this.#watches = new Watches(this.#transport);
  }

  /**
   * Ends all calls and watches, and loses all leases. The promise ends when all results of
   * cancelled calls have been given back.
   */
  close(): Promise<void> {
    return this.#transport.close();
  }

  // One property

  /** Reads a property, now or as of a revision. Throws `NotFound`, and `Gone` for the past. */
  async get<Value = Json>(
    name: string, revision?: number, options: CallOptions = {},
  ): Promise<Property<Value>> {
    return this.#transport.ask("GET", path(name), {
      statuses: [200], read: property<Value>(name), params: { revision }, ...only(options),
    });
  }

  /** Reads a property; undefined if there is none. */
  async find<Value = Json>(
    name: string, options: CallOptions = {},
  ): Promise<Property<Value> | undefined> {
    return unlessMissing(this.get<Value>(name, undefined, options), undefined);
  }

  /** Creates or replaces a property. Returns the new revision. */
  async put(name: string, value: unknown, options: PutOptions = {}): Promise<number> {
    return this.#transport.ask("PUT", path(name), {
      statuses: [201, 204], read: revision, params: lifetime(options), body: value,
      headers: conditions(options), ...only(options),
    });
  }

  /** Deletes a property. Returns whether there was one. */
  async delete(
    name: string, options: { ifRevision?: number } & CallOptions = {},
  ): Promise<boolean> {
    return unlessMissing(this.#transport.ask("DELETE", path(name), {
      statuses: [204], read: () => true, headers: conditions(options), ...only(options),
    }), false);
  }

  /**
   * Adds to an integer, from 0 if there is none. Returns the sum: a `bigint` if it is beyond
   * 2⁵³ − 1, or if `by` is one. Throws `NotAnInteger`.
   */
  increment(name: string, by: bigint, options?: TimeOptions): Promise<bigint>;
  increment(name: string, by?: number, options?: TimeOptions): Promise<number | bigint>;
  async increment(
    name: string, by: number | bigint = 1, options: TimeOptions = {},
  ): Promise<number | bigint> {
    return this.#transport.ask("POST", path(name) + "/increment", {
      statuses: [200], params: lifetime(options), body: { by }, ...only(options),
      read: answer => {
        const sum = value(answer);
        if (typeof sum !== "number" && typeof sum !== "bigint") throw new Unfit("no sum");
        return typeof by === "bigint" ? BigInt(sum) : sum;
      },
    });
  }

  /** Merges a JSON merge patch (RFC 7396); null removes a member. Returns the new value. */
  async merge<Value = Json>(
    name: string, patch: unknown, options: MergeOptions = {},
  ): Promise<Value> {
    return this.#transport.ask("PATCH", path(name), {
      statuses: [200], read: answer => value(answer) as Value, params: lifetime(options),
      body: patch, ...only(options),
      headers: { ...conditions(options), "Content-Type": "application/merge-patch+json" },
    });
  }

  /** Restarts the time to live. Value and revision stay. Returns the revision. */
  async touch(
    name: string, ttl: number, options: { ifRevision?: number } & CallOptions = {},
  ): Promise<number> {
    return this.#transport.ask("POST", path(name) + "/touch", {
      statuses: [204], read: revision, params: lifetime({ ttl }), headers: conditions(options),
      safe: true, ...only(options),
    });
  }

  /**
   * Waits until the property's revision is above `after`; undefined after `wait` seconds. With
   * `after` 0 it also waits for a property that does not exist yet; otherwise a missing one throws
   * `NotFound`.
   */
  async wait<Value = Json>(
    name: string, after = 0, wait = 30, options: CallOptions = {},
  ): Promise<Property<Value> | undefined> {
    const read = (answer: Answer) =>
      answer.status === 304 ? undefined : property<Value>(name)(answer);
    for (const piece of this.#pieces(wait)) {
      const found = await unlessMissing(this.#transport.ask("GET", path(name), {
        statuses: [200, 304], read, ...piece, ...only(options),
        // Proxies expect a condition in a request that can be answered with 304.
        params: { after, wait: 0 }, headers: { "If-None-Match": `"${after}"` },
      }), undefined, after === 0);
      if (found) return found;
    }
    return undefined;
  }

  // Several properties

  /**
   * The properties whose names start with the prefix, sorted by name, page by page. A page is the
   * state at one revision; two pages need not be.
   */
  async *list(
    prefix = "", options: { values?: boolean } & CallOptions = {},
  ): AsyncGenerator<Property> {
    let after: string | undefined;
    do {
      const page: Page = await this.#transport.ask("GET", "/v1/properties", {
        statuses: [200], read: readPage, ...only(options),
        params: { prefix, limit: 1000, after, values: options.values },
      });
      for (const row of page.properties) yield { ...row, value: row.value ?? null };
      after = page.next;
    } while (after !== undefined);
  }

  /** Reads at most 128 properties at one revision. Missing ones are left out. */
  async getMany(names: string[], options: CallOptions = {}): Promise<Map<string, Property>> {
    const name = [...new Set(names)];
    if (name.length > namesMax) throw new InvalidValue(`more than ${namesMax} names`);
    if (name.length === 0) return new Map();
    let rows: (Property | undefined)[];
    if (query({ name }).length <= targetLengthMax) {
      const page = await this.#transport.ask("GET", "/v1/properties", {
        statuses: [200], read: readPage, params: { name }, ...only(options),
      });
      rows = page.properties;
    } else {
      const then = name.map(get => ({ get }));
      const outcome = await transact(this.#transport, { then }, { safe: true, ...only(options) });
      rows = outcome.results.map(found);
    }
    return new Map(rows.flatMap(row => row ? [[row.name, row]] : []));
  }

  /** The number of names that start with the prefix. */
  async count(prefix = "", options: CallOptions = {}): Promise<number> {
    const { count } = await this.#transport.ask("GET", "/v1/count", {
      statuses: [200], read: object<{ count: number }>({ count: "number" }), params: { prefix },
      ...only(options),
    });
    return count;
  }

  /**
   * Deletes all properties whose names start with the prefix. Returns their number. Each 1000 are
   * one commit, so more than 1000 are not removed in one step.
   */
  async deletePrefix(prefix: string, options: CallOptions = {}): Promise<number> {
    const read = object<{ count: number; more: boolean }>({ count: "number", more: "boolean" });
    for (let total = 0; ;) {
      const done = await this.#transport.ask("DELETE", "/v1/properties", {
        statuses: [200], read, params: { prefix, limit: 1000 }, ...only(options),
      });
      total += done.count;
      if (!done.more) return total;
    }
  }

  /**
   * Makes the steps of `then` if all conditions of `if` hold, else those of `else`: all at one
   * revision, or none. With `wait`, at most 60 seconds, it waits until the conditions hold and each
   * `pop` finds something; all steps wait, not only the pop.
   */
  async transaction(
    transaction: Transaction, wait = 0, options: CallOptions = {},
  ): Promise<Outcome> {
    checkedSeconds("wait", wait);
    return transact(this.#transport, transaction, { wait, ...only(options) });
  }

  /** The waits of the requests for a longer wait: the service ends a poll before its time. */
  *#pieces(wait: number): Generator<{ wait: number }> {
    const { clock } = this.#transport;
    const end = clock.now() + checkedSeconds("wait", wait);
    let left = wait;
    do {
      yield { wait: whole(Math.min(left, waitSecondsMax)) };
      left = end - clock.now();
    } while (left > 0);
  }

  // Queues

  /**
   * Removes and returns the first property, by name, under the prefix; undefined if there is none
   * for `wait` seconds. If this program dies before it has used the property, the property is lost:
   * `work` and `claim` are for jobs that must be done.
   */
  async pop(
    prefix: string, wait = 0, options: CallOptions = {},
  ): Promise<Property | undefined> {
    const undo = async ({ results }: Outcome) => this.#putBack(found(results[0]));
    for (const piece of this.#pieces(wait)) {
      const { results } = await transact(this.#transport, { then: [{ pop: prefix }] },
                                         { ...piece, ...only(options), undo });
      const job = found(results[0]);
      if (job) return job;
    }
    return undefined;
  }

  async #putBack(job: Property | undefined): Promise<void> {
    if (!job) return;
    const { name, value, ttl } = job;
    await this.#transport.ask("PUT", path(name), {
      statuses: [201], read: revision, params: { ttl }, body: value,
      headers: conditions({ ifAbsent: true }), limit: this.#transport.timeout, inBackground: true,
    });
  }

  /**
   * Takes the first job under the prefix that has no claim, or undefined. The claim is a property
   * under the prefix `claims` with a time to live. It is renewed until `finish` or `abandon`.
   */
  async claim(jobs: string, options: ClaimOptions): Promise<Claim | undefined> {
    const { claims, ttl = 30, wait = 0, value = null, signal } = options;
    const step = { pop: jobs, claim: claims, ttl: checkedSeconds("ttl", ttl), value };
    return this.#lease({ then: [step] }, wait, signal, (outcome, since) =>
      claimOf(this.#transport, outcome, step, since));
  }

  /** Repeats a transaction until its lease is held; undefined after `wait` seconds. */
  async #lease<Kind extends Lease>(
    transaction: Transaction, wait: number, signal: AbortSignal | undefined,
    granted: (outcome: Outcome, since: number) => Kind | undefined,
  ): Promise<Kind | undefined> {
    const { clock } = this.#transport;
    const end = clock.now() + this.#transport.bound(wait);
    for (const piece of this.#pieces(wait)) {
      const since = clock.now();
      const lease = granted(await transact(this.#transport, transaction, {
        ...piece, signal, undo: async outcome => granted(outcome, since)?.giveBack(),
      }), since);
      if (lease && await lease.start(end - clock.now(), signal)) return lease;
    }
    return undefined;
  }

  /**
   * Calls `handle` for one job after the other. Returns the number of finished ones. Ends when
   * there is no job for `wait` seconds; without `wait`, never. When `handle` returns, its job is
   * finished and the next one taken, in one transaction with the steps that it returns or yields:
   * these are made once for each job. If it throws, the job comes back at once and the error is
   * thrown here. `handle` is called at least once for a job, and again if its claim was lost.
   * `signal` ends it between two jobs.
   */
  async work(
    jobs: string, options: ClaimOptions, handle: (claim: Claim) => Steps | Promise<Steps>,
  ): Promise<number> {
    const { signal } = options;
    const next = () => this.claim(jobs, { wait: Infinity, ...options });
    let count = 0;
    let claim = await next();
    while (claim) {
      const current: Claim = claim;
      claim = undefined;
      try {
        const steps = await collect(handle(current));
        if (signal?.aborted) await current.finish(steps);
        else claim = await current.finishAndClaim(steps);
        count += 1;
      } catch (error) {
        await current.abandon();
        if (!(error instanceof LeaseLost)) throw error;
      }
      if (signal?.aborted) claim?.giveBack();
      throwIfCancelled(signal);
      claim ??= await next();
    }
    return count;
  }

  // Locks

  /** Like `lock`, without a function to call: call `release` of the lease. */
  async acquire(name: string, options: LockOptions = {}): Promise<Lease> {
    const { ttl = 10, wait = Infinity, value = null, signal } = options;
    checkedSeconds("ttl", ttl);
    const put = { if: [{ name, absent: true as const }], then: [{ put: name, value, ttl }] };
    const lease = await this.#lease(put, wait, signal, ({ succeeded, revision }, since) =>
      succeeded ? new Lease(this.#transport, { name, token: revision, ttl, since }) : undefined);
    if (!lease) throw new NotAcquired(`${name}: another client has the lock.`);
    return lease;
  }

  /**
   * Calls `hold` while it holds a lock: a property that one client creates and that expires without
   * renewal. A timer renews it. If it is lost, `signal` of the lease is aborted, and `lock` throws
   * `LeaseLost` when `hold` returns. Waiting clients get it in their order.
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
   * `find(name)` gives the leader, and a watch of the name its changes.
   */
  async election<Value>(
    name: string, candidate: unknown, options: Omit<LockOptions, "value">,
    lead: (lease: Lease) => Value | Promise<Value>,
  ): Promise<Value> {
    return this.lock(name, { ...options, value: candidate }, lead);
  }

  // Watches

  /**
   * The changes, without losses or repeats. It reconnects after each cut, and throws errors that do
   * not pass, such as `Forbidden`. It ends with `signal`, with `close`, or when the loop over it is
   * left. The watches of one client share a stream.
   */
  watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent> {
    return this.#watches.events(options);
  }

  /** All values by name, after each commit: never half of a transaction. */
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
}
