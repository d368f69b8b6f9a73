/** Locks and claims: properties that this program holds for a time. */

import { Unfit, nothing, outcome, revision } from "./answers.js";
import { cancelled, onAbort, until } from "./clock.js";
import { LeaseLost, NotFound, PreconditionFailed } from "./errors.js";
import { path } from "./transport.js";
import type { Transport } from "./transport.js";
import type {
  CallOptions, Condition, Json, Outcome, PopStep, Property, Result, Step,
} from "./types.js";

/** The share of its time to live that is used; the rest allows for a late timer. */
const leaseShare = 0.9;
/** A grant that took more than this share of its time to live had to wait. */
const waitedShare = 0.1;
const renewalPause = 0.1;

/** A grant of the service. `since`: before the request that may have been granted. */
export interface Grant {
  name: string;
  token: number;
  ttl: number;
  since: number;
}

/**
 * A property that this program holds until `release`, or until it is lost.
 *
 * `token` is its fencing token: each later holder has a greater one. `signal` is aborted when the
 * lease is lost: by a clock, nine tenths of its time to live after the last request that renewed
 * it; and at once when the service reports it, or the client is closed.
 */
export class Lease {
  readonly name: string;
  readonly token: number;
  readonly signal: AbortSignal;
  readonly #transport: Transport;
  readonly #ttl: number;
  readonly #abort = new AbortController();
  #cancelRenewal = (): void => {};
  #cancelWatchdog = (): void => {};
  #forget = (): void => {};
  #end: number;
  #isOver = false;
  /** While it is set, a refused renewal only means that the claim was finished. */
  protected isFinishing = false;
  #released: Promise<boolean> | undefined;

  constructor(transport: Transport, grant: Grant) {
    this.#transport = transport;
    this.name = grant.name;
    this.token = grant.token;
    this.#ttl = grant.ttl;
    this.#end = grant.since + grant.ttl * leaseShare;
    this.signal = this.#abort.signal;
  }

  /** A condition for transactions: the lease is still held. */
  get guard(): Condition {
    return { name: this.name, revision: this.token };
  }

  /** Seconds for which the lease is surely held; 0 if it is lost or was given back. */
  get remaining(): number {
    return this.#isOver ? 0 : Math.max(0, this.#end - this.#transport.clock.now());
  }

  /** Throws `LeaseLost` if the lease is lost. */
  check(): void {
    if (this.remaining === 0) throw new LeaseLost(this.name);
  }

  /**
   * Gives it back. Returns whether it was held until now; a second call returns the same. `signal`
   * ends only the call, not the release that it has begun.
   */
  async release({ signal }: CallOptions = {}): Promise<boolean> {
    const released = this.#released ??= this.#release();
    if (!signal) return released;
    return until(signal, released).catch(() => { throw cancelled(signal); });
  }

  async #release(): Promise<boolean> {
    const { clock, closed } = this.#transport;
    const wasHeld = this.remaining > 0;
    this.stop();
    if (closed.aborted) return false;
    try {
      await this.#delete(this.#transport.patience);
      return wasHeld;
    } catch (error) {
      if (error instanceof NotFound || error instanceof PreconditionFailed) return false;
      // It expires by itself.
      return wasHeld && clock.now() < this.#end;
    }
  }

  #delete(limit: number): Promise<void> {
    const deleted = this.#transport.ask("DELETE", path(this.name), {
      statuses: [204], read: nothing, headers: { "If-Match": `"${this.token}"` }, limit,
      inBackground: true,
    });
    this.#transport.background(deleted);
    return deleted;
  }

  /**
   * Begins to renew; a grant that had to wait is renewed first, for at most `seconds`. False if
   * that failed: then it is given back. For this package.
   */
  async start(seconds: number, signal?: AbortSignal): Promise<boolean> {
    const { clock, closed } = this.#transport;
    const since = this.#end - this.#ttl * leaseShare;
    let isHeld = !closed.aborted && !signal?.aborted;
    if (isHeld && clock.now() - since > this.#ttl * waitedShare) {
      const limit = Math.min(this.#ttl / 3, Math.max(0, seconds));
      isHeld = (await this.#renew({ limit, signal })) === "renewed" && this.remaining > 0;
    }
    if (isHeld && !closed.aborted && !signal?.aborted) {
      this.#forget = onAbort(closed, () => this.lose());
      this.#watch();
      this.#plan();
      return true;
    }
    this.giveBack();
    if (signal?.aborted) throw cancelled(signal);
    if (closed.aborted) throw cancelled(closed);
    return false;
  }

  /** Gives it back in the background. For this package. */
  giveBack(): void {
    this.stop();
    void this.#delete(this.#transport.timeout);
  }

  protected stop(): void {
    this.#isOver = true;
    this.#cancelRenewal();
    this.#cancelWatchdog();
    this.#forget();
  }

  protected lose(): void {
    this.stop();
    this.#abort.abort(new LeaseLost(this.name));
  }

  /** Waits for the end by the clock, whatever renewals do. */
  #watch(): void {
    this.#cancelWatchdog = this.#transport.clock.later(this.remaining, () => {
      if (this.remaining === 0) this.lose();
      else this.#watch();
    });
  }

  #plan(seconds = this.#ttl / 3): void {
    this.#cancelRenewal = this.#transport.clock.later(seconds, () => {
      // A process that was stopped meanwhile must not renew a lease for which others may wait.
      if (this.remaining === 0) return this.lose();
      const limit = Math.min(this.#ttl / 3, this.remaining);
      void this.#renew({ limit, once: true }).then(done => {
        if (this.#isOver) return;
        if (done === "refused" && !this.isFinishing) this.lose();
        else this.#plan(done === "failed" ? renewalPause : undefined);
      });
    });
  }

  async #renew(
    more: { limit: number; once?: boolean; signal?: AbortSignal | undefined },
  ): Promise<"renewed" | "refused" | "failed"> {
    const sent = this.#transport.clock.now();
    try {
      await this.#transport.ask("POST", path(this.name) + "/touch", {
        statuses: [204], params: { ttl: this.#ttl }, headers: { "If-Match": `"${this.token}"` },
        safe: true, ...more,
        read: answer => {
          if (revision(answer) !== this.token) throw new Unfit("another revision");
        },
      });
    } catch (error) {
      const isRefused = error instanceof NotFound || error instanceof PreconditionFailed;
      return isRefused ? "refused" : "failed";
    }
    this.#end = Math.max(this.#end, sent + this.#ttl * leaseShare);
    return "renewed";
  }
}

/** A job that this program works on. */
export class Claim extends Lease {
  readonly job: Property;
  readonly #transport: Transport;
  readonly #step: PopStep;

  constructor(transport: Transport, grant: Grant, job: Property, step: PopStep) {
    super(transport, grant);
    this.#transport = transport;
    this.job = job;
    this.#step = step;
  }

  /** The value of the job. */
  get value(): Json {
    return this.job.value;
  }

  /**
   * Removes the job, and makes further steps in the same transaction. Throws `LeaseLost` if the
   * claim was lost: nothing was done, and another program has the job. After `OutcomeUnknown` it
   * can be called again: it is made once.
   */
  async finish(steps: Step[] = [], options: CallOptions = {}): Promise<void> {
    await this.#finish(steps, options);
  }

  /** Like `finish`, and takes the next job in the same transaction; undefined if there is none. */
  async finishAndClaim(steps: Step[] = [], options: CallOptions = {}): Promise<Claim | undefined> {
    const sent = this.#transport.clock.now();
    const next = (outcome: Outcome) => claimOf(this.#transport, outcome, this.#step, sent);
    const outcome = await this.#finish([...steps, this.#step], {
      ...options, undo: async found => next(found)?.giveBack(),
    });
    const claim = next(outcome);
    return claim && await claim.start(this.#step.ttl, options.signal) ? claim : undefined;
  }

  /** Gives the job back, for another program to take it at once. */
  async abandon(options: CallOptions = {}): Promise<void> {
    await this.release(options);
  }

  async #finish(
    steps: Step[], more: CallOptions & { undo?: (found: Outcome) => Promise<void> },
  ): Promise<Outcome> {
    this.isFinishing = true;
    try {
      const done = await transact(this.#transport, {
        if: [this.guard], then: [{ delete: this.job.name }, { delete: this.name }, ...steps],
      }, more);
      if (!done.succeeded) {
        this.lose();
        throw new LeaseLost(this.name);
      }
      this.stop();
      return done;
    } finally {
      this.isFinishing = false;
    }
  }
}

/** The claim on a job that a transaction took. */
export function claimOf(
  transport: Transport, { succeeded, revision, results }: Outcome, step: PopStep, since: number,
): Claim | undefined {
  const job = found(results[results.length - 1]);
  if (!succeeded || !job) return undefined;
  const name = step.claim + job.name.slice(step.pop.length);
  return new Claim(transport, { name, token: revision, ttl: step.ttl, since }, job, step);
}

export function found(result: Result | undefined): Property | undefined {
  return result && result.revision > 0 ? { created: 0, value: null, ...result } : undefined;
}

export interface Transaction {
  if?: Condition[];
  then?: Step[];
  else?: Step[];
}

export function transact(
  transport: Transport, transaction: Transaction,
  more: CallOptions & {
    wait?: number; limit?: number; safe?: boolean; inBackground?: boolean;
    undo?: (outcome: Outcome) => Promise<unknown>;
  } = {},
): Promise<Outcome> {
  return transport.ask("POST", "/v1/transactions", {
    statuses: [200], read: outcome, body: transaction, ...more,
  });
}
