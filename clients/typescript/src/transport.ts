/**
 * Requests: their addresses, attempts, keys and deadlines. `clients/behaviour.md` has the rules.
 *
 * **A read precedes a write** where it avoids doubt: in a browser, which does not tell why there
 * was no answer, and with several addresses, where a machine that is off does not answer at all. It
 * goes to an address that has not answered yet, or not the last time.
 */

import { Failure, Unfit, failureOf, failureOfFetch, isSettled, received } from "./answers.js";
import type { Answer } from "./answers.js";
import {
  Link, cancelled, checkedSeconds, machineClock, sleep, throwIfCancelled, until, whole,
} from "./clock.js";
import type { Clock } from "./clock.js";
import {
  Cancelled, InvalidValue, LatchkeyError, NotLatchkey, OutcomeUnknown, Problem, Unreachable,
} from "./errors.js";
import { stringify } from "./json.js";
import type { Options } from "./types.js";

const noKeyLeft = ["client-share-taken", "too-many-idempotency-keys"];
const keylessSeconds = 10;
/** A waiting call has these seconds in addition to its wait. */
const graceSeconds = 2;
/** No attempt has less time: its answer would be missed. */
const attemptMin = 0.1;
const tellsFailures = "versions" in ((globalThis as { process?: object }).process ?? {});

export interface Request<Value> {
  /** The statuses of success. */
  statuses: number[];
  /** Throws `Unfit` or `SyntaxError` for an answer that is not Latchkey's. */
  read: (answer: Answer) => Value;
  params?: Record<string, unknown>;
  body?: unknown;
  headers?: Record<string, string>;
  /** Seconds that the service waits; each attempt asks for the rest. */
  wait?: number;
  /** Whether it can be made twice. */
  safe?: boolean;
  /** Seconds for all attempts. */
  limit?: number;
  /** Whether there is only one attempt. */
  once?: boolean;
  signal?: AbortSignal | undefined;
  /** Whether it continues when the client is closed. */
  inBackground?: boolean;
  /** Gives back the result of a call that was cancelled or whose outcome is unknown. */
  undo?: (value: Value) => Promise<unknown>;
}

interface Call<Value> {
  method: string;
  target: string;
  request: Request<Value>;
  headers: Record<string, string>;
  body: string | undefined;
  safe: boolean;
  base: string;
  isInDoubt: boolean;
}

export class Transport {
  readonly clock: Clock;
  readonly timeout: number;
  readonly patience: number;
  readonly #urls: string[];
  readonly #token: string | undefined;
  readonly #keys: boolean;
  readonly #fetch: typeof fetch | undefined;
  readonly #closing = new AbortController();
  readonly #background = new Set<Promise<unknown>>();
  /** Addresses that have answered, and whether they did the last time. */
  readonly #answered = new Map<string, boolean>();
  #index = 0;
  #keylessUntil = -Infinity;

  constructor(urls: string[], options: Options) {
    this.#urls = [...new Set(urls.map(address))];
    this.#token = options.token?.trimEnd() || undefined;
    if (this.#token !== undefined && !/^[\x21-\x7e]+$/.test(this.#token)) {
      throw new InvalidValue("the token has characters that a header field cannot have");
    }
    this.clock = options.clock ?? machineClock;
    this.timeout = checkedSeconds("timeout", options.timeout ?? 10);
    this.patience = checkedSeconds("patience", options.patience ?? 10);
    this.#keys = options.keys ?? true;
    this.#fetch = options.fetch;
  }

  /** Aborted when the client is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Ends all waits, loses all leases, and waits for the work in the background. */
  async close(): Promise<void> {
    this.#closing.abort(new Cancelled("the client is closed"));
    do {
      // Until the cancelled calls have started to give back.
      await new Promise(resolve => setTimeout(resolve));
      await Promise.all(this.#background);
    } while (this.#background.size > 0);
  }

  background(work: Promise<unknown>): void {
    // Its errors have no reader.
    const one: Promise<unknown> = work.catch(() => {}).finally(() => this.#background.delete(one));
    this.#background.add(one);
  }

  /** Sends a request until it has a final answer. */
  async ask<Value>(method: string, target: string, request: Request<Value>): Promise<Value> {
    const call = this.#call(method, target, request);
    const link = new Link(request.signal, request.inBackground ? undefined : this.closed);
    try {
      return await this.#repeat(call, link.signal);
    } catch (error) {
      this.#undo(call, error);
      throw error;
    } finally {
      link.unlink();
    }
  }

  #call<Value>(method: string, target: string, request: Request<Value>): Call<Value> {
    const safe = request.safe || method === "GET";
    const headers = this.headers(request.headers);
    const body = "body" in request ? stringify(request.body) : undefined;
    if (body !== undefined) headers["Content-Type"] ??= "application/json";
    if (this.#keys && !safe && this.clock.now() >= this.#keylessUntil) {
      headers["Idempotency-Key"] = randomKey();
    }
    return { method, target, request, headers, body, safe, base: this.base, isInDoubt: false };
  }

  async #repeat<Value>(call: Call<Value>, signal: AbortSignal): Promise<Value> {
    const { wait = 0, limit, once = false } = call.request;
    const start = this.clock.now();
    const end = start + (limit ?? this.bound(wait));
    let pause = 0.05;
    let skips = 0;
    let hops = 0;
    let wrongs = 0;
    for (;;) {
      throwIfCancelled(signal);
      if (!call.isInDoubt) call.base = this.base;
      const waitLeft = Math.max(0, start + wait - this.clock.now());
      const left = Math.max(attemptMin, end - this.clock.now());
      const done = await this.#attempt(call, waitLeft, Math.min(this.timeout + waitLeft, left),
                                       signal);
      if (!(done instanceof Failure)) return done.value;
      const { error } = done;
      if (this.#goesWithoutKey(call, error)) continue;
      call.isInDoubt ||= done.isInDoubt && !call.safe;
      const isLed = this.#follows(error);
      if (!isLed && done.isSilent) this.next(call.base);
      if (!call.isInDoubt && this.base !== call.base) {
        if ((isLed ? hops++ : ++skips) < this.#urls.length) continue;
      }
      // An error of one address need not concern the others.
      wrongs = done.isSilent && !done.passes ? wrongs + 1 : 0;
      const passes = done.passes
        || (!call.isInDoubt && wrongs > 0 && wrongs < this.#urls.length);
      const mayRepeat = passes && !once
        && (!call.isInDoubt || call.headers["Idempotency-Key"] !== undefined);
      const delay = Math.max(pause * (0.5 + Math.random() / 2), done.delay);
      const isLate = this.clock.now() + delay + attemptMin > end;
      if (!mayRepeat || isLate) throw ending(call, error);
      await sleep(this.clock, delay, signal);
      pause = Math.min(pause * 2, 2);
    }
  }

  #goesWithoutKey(call: Pick<Call<never>, "headers" | "isInDoubt">, error: LatchkeyError): boolean {
    if (!(error instanceof Problem) || !noKeyLeft.includes(error.type)) return false;
    if (call.isInDoubt || call.headers["Idempotency-Key"] === undefined) return false;
    delete call.headers["Idempotency-Key"];
    this.#keylessUntil = this.clock.now() + keylessSeconds;
    return true;
  }

  /** Continues with the leader, if its address was given. */
  #follows(error: LatchkeyError): boolean {
    const leader = error instanceof Problem && error.type === "not-leader" ? error.leader : "";
    const index = leader ? this.#urls.indexOf(leader.replace(/\/+$/, "")) : -1;
    if (index >= 0) this.#index = index;
    return index >= 0;
  }

  /** Makes one attempt. Throws only `Cancelled`. */
  async #attempt<Value>(
    call: Call<Value>, wait: number, seconds: number, signal: AbortSignal,
  ): Promise<{ value: Value } | Failure> {
    const { method, target, request, headers, body, base } = call;
    const params = wait > 0 ? { ...request.params, wait: whole(wait) } : request.params ?? {};
    const init: RequestInit = body === undefined ? { method, headers } : { method, headers, body };
    const end = this.clock.now() + seconds;
    const isUnsure = (!tellsFailures || this.#urls.length > 1) && !this.#answered.get(base);
    try {
      if (isUnsure && !call.safe && !call.isInDoubt) {
        const read = { method: "GET", headers: this.headers() };
        const share = Math.min(this.timeout, seconds) / (1 + this.#urls.length);
        await this.exchange(base, "/v1/strategies", read, share, signal, received);
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const { passes, isSilent } = tellsFailures ? error : { passes: true, isSilent: true };
      return new Failure(error.error, { passes, isSilent });
    }
    try {
      return await this.exchange(base, target + query(params), init, end - this.clock.now(), signal,
                                 async answer => judge(base, request, await received(answer)));
    } catch (error) {
      if (error instanceof Failure) return error;
      call.isInDoubt ||= !call.safe;
      throw error;
    }
  }

  /**
   * A request, and `read` of its answer, within one time. Throws a `Failure`, or `Cancelled` when
   * the signal comes first.
   */
  async exchange<Value>(
    base: string, target: string, init: RequestInit, seconds: number, signal: AbortSignal,
    read: (answer: Response) => Promise<Value>,
  ): Promise<Value> {
    const link = new Link(signal);
    const cancel = this.clock.later(seconds, () => link.abort.abort(new Failure(
      new Unreachable(`${base}: no answer for ${whole(seconds)} seconds`),
      { passes: true, isInDoubt: true, isSilent: true })));
    try {
      return await until(link.signal, (async () => {
        const answer = await this.#send(base + target, { ...init, signal: link.signal });
        this.#answered.set(base, true);
        return read(answer);
      })());
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      const failure = error instanceof Failure ? error : failureOfFetch(base, error);
      if (failure.isSilent && this.#answered.has(base)) this.#answered.set(base, false);
      throw failure;
    } finally {
      cancel();
      link.unlink();
    }
  }

  async #send(url: string, init: RequestInit): Promise<Response> {
    // Browsers require that `fetch` is called as a function of the window.
    const call = this.#fetch ?? globalThis.fetch;
    return call(url, { cache: "no-store", redirect: "manual", ...init });
  }

  #undo<Value>(call: Call<Value>, error: unknown): void {
    const { undo } = call.request;
    const isOver = error instanceof Cancelled || error instanceof OutcomeUnknown;
    if (!undo || !isOver || !call.isInDoubt || !call.headers["Idempotency-Key"]) return;
    const again = { ...call, request: { ...call.request, wait: 0, limit: this.timeout } };
    const never = new AbortController().signal;
    this.background(this.#repeat(again, never).then(undo));
  }

  headers(more: Record<string, string> = {}): Record<string, string> {
    const token = this.#token;
    return token === undefined ? { ...more } : { Authorization: `Bearer ${token}`, ...more };
  }

  /** The seconds of a call with this wait. */
  bound(wait: number): number {
    return wait > 0 ? wait + graceSeconds : this.patience;
  }

  /** The address that requests go to. */
  get base(): string {
    return this.#urls[this.#index]!;
  }

  /** Continues with the next address, if this is still the current one. */
  next(base: string): void {
    if (base === this.base) this.#index = (this.#index + 1) % this.#urls.length;
  }

  /** Whether a failure may be one that does not pass; a browser does not tell. */
  mayBeWrong(base: string): boolean {
    return !tellsFailures && !this.#answered.has(base);
  }
}

/** The error at the end of a call. */
function ending({ isInDoubt }: { isInDoubt: boolean }, error: LatchkeyError): LatchkeyError {
  return isInDoubt && !isSettled(error) ? new OutcomeUnknown(error.message, error) : error;
}

function judge<Value>(
  base: string, request: Request<Value>, answer: Answer,
): { value: Value } | Failure {
  if (!request.statuses.includes(answer.status)) return failureOf(base, answer);
  try {
    return { value: request.read(answer) };
  } catch (error) {
    if (!(error instanceof Unfit || error instanceof SyntaxError)) throw error;
    const message = `${base}: status ${answer.status}, and not from Latchkey (${error.message})`;
    return new Failure(new NotLatchkey(message));
  }
}

/** Throws `Unreachable` for an invalid address of a service. */
function address(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Unreachable("the address of the service is not a URL");
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new Unreachable("the address of the service must be http://HOST:PORT or https://…");
  }
  return text.replace(/\/+$/, "");
}

/** Throws `InvalidValue` for half of a surrogate pair. */
export function encode(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch (error) {
    throw new InvalidValue("a name is not valid Unicode", error);
  }
}

/** `fetch` takes these two names for steps to other paths, also if they are encoded. */
export function path(name: string): string {
  if (name === "." || name === "..") {
    throw new InvalidValue(`the name "${name}" cannot be reached with fetch`);
  }
  return "/v1/properties/" + encode(name);
}

/** The parameters that have a value; one for each element of a list. */
export function query(params: Record<string, unknown>): string {
  const pairs: string[] = [];
  for (const [key, value] of Object.entries(params)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      pairs.push(`${key}=${encode(String(one))}`);
    }
  }
  return pairs.length === 0 ? "" : "?" + pairs.join("&");
}

/** Not secret, only different from all others. */
function randomKey(): string {
  const part = () => Math.random().toString(36).slice(2);
  return part() + part() + part();
}
