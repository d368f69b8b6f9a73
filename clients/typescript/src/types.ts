/** Arguments and results of the calls. Times are in seconds. */

import type { Clock } from "./clock.js";

/** A value. Integers beyond 2⁵³ − 1 are `bigint`; all other numbers are `number`. */
export type Json =
  | null | boolean | number | bigint | string | Json[] | { [name: string]: Json };

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
  | ({ increment: string; by?: number | bigint } & Lifetime)
  | { touch: string; ttl: number }
  | { delete: string }
  | { get: string }
  | { pop: string }
  | PopStep
  | { "delete-prefix": string }
  | { count: string };

/** Takes a job and leaves a claim. */
export type PopStep = { pop: string; claim: string; ttl: number; value?: unknown };

/** A condition of a transaction: a name and one test. */
export type Condition = { name: string } & (
  | { revision: number }
  | { exists: boolean }
  | { absent: boolean }
  | { equals: unknown }
  | { "<": number | bigint | string }
  | { "<=": number | bigint | string }
  | { ">": number | bigint | string }
  | { ">=": number | bigint | string }
  | { "!=": unknown });

/** The property after a step, or its count. Revision 0: there is no such property. */
export interface Result {
  name: string;
  revision: number;
  created?: number;
  value?: Json;
  ttl?: number;
  count?: number;
}

/** The result of a transaction. `succeeded`: its conditions held. `results`: one for each step. */
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

export interface Options {
  /** Further addresses of the service. A follower's leader is taken if it is one of them. */
  urls?: string[];
  /** Sent as `Authorization: Bearer`. White space at its end is removed. */
  token?: string;
  /** Seconds for each attempt, with all parts of its answer; 10 if left out. */
  timeout?: number;
  /** Seconds for a call with all its attempts, 10 if left out. */
  patience?: number;
  /** Whether writes have an `Idempotency-Key`; true if left out. */
  keys?: boolean;
  /**
   * A `fetch` of your own, for proxies or client certificates. Node takes certificates to trust
   * from the environment: `NODE_EXTRA_CA_CERTS=ca.pem`.
   */
  fetch?: typeof fetch;
  /** For tests: a clock that they advance. */
  clock?: Clock;
}

export interface CallOptions {
  /** Ends the call at once with `Cancelled`. Its result is given back in the background. */
  signal?: AbortSignal | undefined;
}

export interface TimeOptions extends CallOptions {
  /** Seconds until it expires; without `ttl` it does not. */
  ttl?: number;
  /** Like `ttl`, but only if the property is created. */
  ttlIfNew?: number;
}

export interface MergeOptions extends TimeOptions {
  /** Throws `PreconditionFailed` if the property has another revision. */
  ifRevision?: number;
}

export interface PutOptions extends MergeOptions {
  /** Throws `PreconditionFailed` if the property exists. */
  ifAbsent?: boolean;
}

export interface WatchOptions {
  /** Names with these prefixes. Without prefixes and names: all. */
  prefixes?: string[];
  names?: string[];
  /** The current state comes first, as `put` events, and then `ready`. */
  initial?: boolean;
  /** Starts after this revision or event id. */
  after?: number | string;
  /** Events have the value before. */
  previous?: boolean;
  /** Ends an older watch with this name. Such a watch has a stream of its own. */
  observer?: string;
  /** Reconnects after so many seconds without a message: 60 if left out. */
  silence?: number;
  /** Ends the watch. */
  signal?: AbortSignal | undefined;
}

export interface LockOptions extends CallOptions {
  /** Seconds for which it is held without renewal, 10 if left out. */
  ttl?: number;
  /** Seconds to wait for it, without limit if left out. */
  wait?: number;
  /** The value of the property, for others to read. */
  value?: unknown;
}

export interface ClaimOptions extends CallOptions {
  /** The prefix of the claims. */
  claims: string;
  /** Seconds after which the job comes back if this program dies, 30 if left out. */
  ttl?: number;
  /** Seconds to wait for a job. */
  wait?: number;
  /** The value of the claim, for others to read. */
  value?: unknown;
}
