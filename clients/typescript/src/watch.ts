/** One watch, from the view of the loop over it. */

import { query } from "./transport.js";
import type { WatchEvent, WatchOptions } from "./types.js";
import type { Stream } from "./watches.js";

/** The limit of events that wait for the reader. */
const queueMax = 1000;
/** The service's limits: names and prefixes together, and the length of a line. */
const namesMax = 16;
const queryLengthMax = 3000;

/** The watch of one loop. */
export class Watch {
  readonly options: WatchOptions;
  /** The place after the last event in the queue. */
  place: string | undefined;
  /** Whether the service has sent the place: it belongs to this life of the store. */
  isKnown = false;
  isAlone: boolean;
  stream: Stream | undefined;
  readonly #signal: AbortSignal;
  readonly #queue: WatchEvent[] = [];
  #error: unknown;
  #wake = (): void => {};

  constructor(options: WatchOptions, signal: AbortSignal) {
    this.options = options;
    this.place = options.after === undefined ? undefined : String(options.after);
    this.isAlone = options.observer !== undefined;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake());
  }

  get isFull(): boolean {
    return this.#queue.length >= queueMax;
  }

  matches(name: string): boolean {
    const { names = [], prefixes = [] } = this.options;
    return (names.length === 0 && prefixes.length === 0) || names.includes(name)
      || prefixes.some(prefix => name.startsWith(prefix));
  }

  push(event: WatchEvent): void {
    const { previous, ...rest } = event;
    this.#queue.push(this.options.previous && "previous" in event ? event : rest);
    this.#wake();
  }

  fail(error: unknown): void {
    this.#error = error;
    this.#wake();
  }

  /** The next event; undefined if it is over. */
  async next(): Promise<WatchEvent | undefined> {
    for (;;) {
      if (this.#signal.aborted) return undefined;
      const event = this.#queue.shift();
      if (event) {
        if (!this.isFull) this.stream?.hasRoom();
        return event;
      }
      if (this.#error) throw this.#error;
      await new Promise<void>(resolve => { this.#wake = resolve; });
    }
  }
}

/** The names of these watches as parameters; undefined if there are too many for one stream. */
export function filter(watches: Iterable<Watch>): string | undefined {
  const all = [...watches].map(({ options }) => options);
  const isWhole = all.some(({ names, prefixes }) => !names?.length && !prefixes?.length);
  const prefixes = isWhole ? [""] : all.flatMap(({ prefixes = [] }) => prefixes);
  // Without texts that another prefix covers.
  const distinct = (texts: string[]) => [...new Set(texts)].sort().filter(
    text => !prefixes.some(prefix => prefix.length < text.length && text.startsWith(prefix)));
  const prefix = isWhole ? [] : distinct(prefixes);
  const name = isWhole ? []
    : distinct(all.flatMap(({ names = [] }) => names)).filter(text => !prefixes.includes(text));
  const previous = all.some(options => options.previous) || undefined;
  const text = query({ prefix, name, previous }).slice(1);
  const isLong = prefix.length + name.length > namesMax || text.length > queryLengthMax;
  return isLong && all.length > 1 ? undefined : text;
}
