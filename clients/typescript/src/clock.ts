/** Time, and waits that end by a signal. */

import { Cancelled, InvalidValue } from "./errors.js";

/** The time, and calls at a later time. */
export interface Clock {
  /** Seconds of a clock that is never set back. */
  now(): number;
  /** Calls a function so many seconds later. Returns a function that cancels that. */
  later(seconds: number, call: () => void): () => void;
}

/** Longer timers of JavaScript fire at once. */
const timerMax = 2 ** 31 - 1;

/** Seconds for which `performance.now` stopped, as it can while a machine sleeps. */
let slept = 0;

export const machineClock: Clock = {
  now: () => {
    const awake = performance.now();
    slept = Math.max(slept, (Date.now() - performance.timeOrigin - awake) / 1000);
    return awake / 1000 + slept;
  },
  later: (seconds, call) => {
    const timer = setTimeout(call, Math.min(1000 * seconds, timerMax));
    return () => clearTimeout(timer);
  },
};

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls a function when the signal is aborted. Returns a function that cancels that. A signal has
 * one listener for all functions: Node reports many listeners as a leak.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  let calls = listeners.get(signal);
  if (!calls) {
    const all = new Set<() => void>();
    listeners.set(signal, calls = all);
    signal.addEventListener("abort", () => { for (const one of [...all]) one(); });
  }
  const own = () => call();
  calls.add(own);
  return () => void calls?.delete(own);
}

/** The signals as one. `AbortSignal.any` needs Node 20. */
export class Link {
  readonly abort = new AbortController();
  readonly #undo: (() => void)[] = [];

  constructor(...parents: (AbortSignal | undefined)[]) {
    for (const parent of parents) {
      if (parent?.aborted) this.abort.abort(parent.reason);
      if (parent) this.#undo.push(onAbort(parent, () => this.abort.abort(parent.reason)));
    }
  }

  get signal(): AbortSignal {
    return this.abort.signal;
  }

  /** Removes it from its parents. */
  unlink(): void {
    for (const undo of this.#undo) undo();
  }
}

/** The result of the promise; the reason of the signal, thrown, if that comes first. */
export function until<Value>(signal: AbortSignal, promise: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    promise.then(resolve, reject).finally(onAbort(signal, end));
  });
}

/** Waits; ends early, without an error, with the signal. */
export function sleep(clock: Clock, seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = () => {
      cancel();
      forget();
      resolve();
    };
    const forget = onAbort(signal, end);
    const cancel = clock.later(signal.aborted ? 0 : seconds, end);
  });
}

export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancelled(signal);
}

export function cancelled(signal: AbortSignal): Cancelled {
  const { reason } = signal;
  return reason instanceof Cancelled ? reason : new Cancelled("the call was cancelled", reason);
}

/** Throws `InvalidValue` for an invalid time. */
export function checkedSeconds(what: string, seconds: number): number {
  if (typeof seconds === "number" && seconds >= 0) return seconds;
  throw new InvalidValue(`${what} is not a number of seconds`);
}

/** Rounds up to whole milliseconds: the shortest wait is one. */
export function whole(seconds: number): number {
  return Math.ceil(1000 * seconds) / 1000;
}
