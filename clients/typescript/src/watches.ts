/**
 * Watches. Those of one client share streams, since a browser has only six connections to a host.
 *
 * **Design.** A `Watch` is the view of one loop: a queue, and the place after the last event in it.
 * A `Stream` is a connection for one or more watches, with the union of their names; it reconnects
 * when it is cut. A watch begins with a stream of its own. Once its state is complete and it is not
 * behind another stream, it joins that one, which reconnects if its names are not enough. A watch
 * ignores events up to its own place. The events of a commit are given when all have come, so that
 * each watch knows which is its last one. A watch that is read too slowly, or whose stream is
 * refused, continues alone from its place.
 */

import { Failure, failureOf, object, received } from "./answers.js";
import { Link, sleep, until } from "./clock.js";
import { InvalidValue, LatchkeyError, NotLatchkey, Replaced } from "./errors.js";
import { EventParser, order } from "./events.js";
import type { StreamEvent } from "./events.js";
import { parse } from "./json.js";
import { query } from "./transport.js";
import type { Transport } from "./transport.js";
import type { WatchEvent, WatchOptions } from "./types.js";
import { Watch, filter } from "./watch.js";

const types = ["put", "delete", "expire", "ready", "gap"];
/** The time that a stream waits for the slowest of several watches. */
const slowSeconds = 1;
const pauseMin = 0.1;
const pauseMax = 5;
const silenceSeconds = 60;
/** The limit of the delay by `Retry-After` and `retry`. */
const delayMax = 600;

/** One connection, which reconnects. */
export class Stream {
  readonly watches: Set<Watch>;
  /** The place after the last event; the stream resumes from here. */
  place: string | undefined;
  readonly #all: Watches;
  #abort = new AbortController();
  #isOver = false;
  #isSleeping = false;
  /** Whether the current state is not complete. */
  #isPartial: boolean;
  #hasBegun = false;
  #commit: WatchEvent[] = [];
  #names = "";
  #pause = pauseMin;
  #retry: number | undefined;
  #ring = (): void => {};

  constructor(all: Watches, watch: Watch) {
    this.#all = all;
    this.watches = new Set([watch]);
    this.place = watch.place;
    this.#isPartial = watch.options.initial === true && watch.place === undefined;
    watch.stream = this;
  }

  /** Whether another watch can join. */
  get isShareable(): boolean {
    return !this.#isOver && !this.#isPartial
      && [...this.watches].every(({ isAlone, isKnown, isFull }) => !isAlone && isKnown && !isFull);
  }

  /** Called when a reader has made room in its queue. */
  hasRoom(): void {
    this.#ring();
  }

  end(): void {
    this.#isOver = true;
    this.#abort.abort();
  }

  add(watch: Watch): void {
    this.watches.add(watch);
    watch.stream = this;
    if (filter(this.watches) === this.#names) return;
    for (const { place } of this.watches) {
      if (order(place!, this.place!) < 0) this.place = place;
    }
    this.#commit = [];
    if (!this.#isSleeping) this.#abort.abort();
  }

  async run(): Promise<void> {
    const { clock, patience } = this.#all.transport;
    const start = clock.now();
    while (!this.#isOver) {
      this.#abort = new AbortController();
      const { signal } = this.#abort;
      const base = this.#all.transport.base;
      let delay = 0;
      let isCut = true;
      try {
        await this.#connect(base, signal);
      } catch (error) {
        if (signal.aborted) continue;
        if (!(error instanceof Failure)) return this.#fail(error);
        const isLate = this.#all.transport.mayBeWrong(base) && clock.now() - start > patience;
        if (!error.passes || isLate) return this.#fail(error.error);
        if (error.isSilent) this.#all.transport.next(base);
        delay = error.delay;
        isCut = false;
      }
      if (signal.aborted) continue;
      const pause = this.#pause * (0.5 + Math.random() / 2);
      delay = Math.max(delay, this.#retry ?? 0, isCut && this.#retry !== undefined ? 0 : pause);
      this.#isSleeping = true;
      await sleep(clock, Math.min(delay, delayMax), signal);
      this.#isSleeping = false;
      this.#pause = Math.min(this.#pause * 2, pauseMax);
    }
  }

  /** Returns when the stream is cut. */
  async #connect(base: string, signal: AbortSignal): Promise<void> {
    const { transport } = this.#all;
    if (this.place === undefined && this.#hasBegun) {
      // The stream was cut before it had a place: the state comes again.
      this.#isPartial = true;
      this.#give({ type: "gap", name: "", revision: 0, endsCommit: true });
    }
    this.#names = filter(this.watches)!;
    const { observer } = [...this.watches][0]!.options;
    const target = "/v1/watch" + query({
      initial: (this.place === undefined && this.#isPartial) || undefined, observer,
    });
    const names = this.#names && (target.includes("?") ? "&" : "?") + this.#names;
    const headers = transport.headers({ Accept: "text/event-stream" });
    if (this.place !== undefined) headers["Last-Event-ID"] = this.place;
    const reader = await transport.exchange(
      base, target + names, { headers }, transport.timeout, signal, answer => opened(base, answer));
    this.#hasBegun ||= !this.#isPartial;
    try {
      await this.#receive(base, reader, signal);
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  async #receive(
    base: string, reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#all.transport;
    const silences = [...this.watches].map(({ options }) => options.silence ?? silenceSeconds);
    const parser = new EventParser();
    for (;;) {
      const link = new Link(signal);
      const cancel = clock.later(Math.min(...silences), () => link.abort.abort());
      let piece: Uint8Array | undefined;
      try {
        piece = (await until(link.signal, reader.read())).value;
      } catch {
        // Cut, silent, or over.
      } finally {
        cancel();
        link.unlink();
      }
      if (!piece || signal.aborted) return;
      for (const event of parser.events(piece)) {
        this.#take(base, event);
        if (signal.aborted) return;
      }
      this.#retry = parser.retry ?? this.#retry;
      await this.#room(signal);
    }
  }

  #take(base: string, { type, data, id }: StreamEvent): void {
    if (type === "replaced") {
      throw new Failure(new Replaced("another watch has this observer"));
    }
    if (!types.includes(type)) return;
    const event = eventOf(type, data);
    if (!event) throw new Failure(new NotLatchkey(`${base}: an event is not one of Latchkey`));
    this.#pause = pauseMin;
    if (type === "gap") {
      this.#isPartial = true;
      this.#commit = [];
      this.#give(event);
    } else if (type === "ready") {
      this.#isPartial = false;
      this.#give(id === undefined ? event : { ...event, id });
      this.#reach(id, true);
    } else if (id === undefined) {
      this.#hasBegun = true;
      this.#give(event);
    } else {
      // The last event of a commit may belong to a watch that has left.
      const before = this.#commit[0]?.revision;
      if (before !== undefined && before !== event.revision) this.#giveCommit(String(before));
      this.place = id;
      this.#commit.push({ ...event, id });
      if (!id.includes(".")) this.#giveCommit(id);
    }
  }

  /** Gives an event of the current state. */
  #give(event: WatchEvent): void {
    const isForAll = event.type === "gap" || event.type === "ready";
    for (const watch of this.watches) {
      if (isForAll || watch.matches(event.name)) watch.push(event);
    }
  }

  #giveCommit(id: string): void {
    const commit = this.#commit;
    this.#commit = [];
    for (const watch of this.watches) {
      const { place } = watch;
      const own = commit.filter(event => watch.matches(event.name)
        && (place === undefined || order(event.id!, place) > 0));
      own.forEach((event, index) => watch.push(
        index === own.length - 1 ? { ...event, id } : { ...event, endsCommit: false }));
    }
    this.#reach(id);
  }

  /** Records that all events up to here have been given. */
  #reach(id: string | undefined, isNew = false): void {
    if (id === undefined) return;
    this.place = id;
    for (const watch of this.watches) {
      // After a complete state, the revisions may be those of another life of the store.
      if (isNew || watch.place === undefined || order(id, watch.place) > 0) watch.place = id;
      watch.isKnown = true;
    }
    if (this.watches.size === 1 && this.#all.join([...this.watches][0]!)) this.end();
  }

  /** Waits until the watches have room; a slow one of several gets its own stream. */
  async #room(signal: AbortSignal): Promise<void> {
    let isLate = false;
    const cancel = this.watches.size > 1 ? this.#all.transport.clock.later(slowSeconds, () => {
      isLate = true;
      this.#ring();
    }) : () => {};
    const full = () => [...this.watches].filter(watch => watch.isFull);
    while (full().length > 0 && !isLate && !signal.aborted) {
      await until(signal, new Promise<void>(resolve => { this.#ring = resolve; })).catch(() => {});
    }
    cancel();
    if (isLate) for (const watch of full()) this.#all.separate(watch);
  }

  /** The error may concern only one of several watches: each continues alone. */
  #fail(error: unknown): void {
    this.end();
    const watches = [...this.watches];
    if (watches.length === 1) watches[0]!.fail(error);
    else for (const watch of watches) this.#all.separate(watch);
  }
}

/** The watches of one client. */
export class Watches {
  readonly transport: Transport;
  readonly #streams = new Set<Stream>();

  constructor(transport: Transport) {
    this.transport = transport;
  }

  async *events(options: WatchOptions): AsyncGenerator<WatchEvent> {
    const link = new Link(options.signal, this.transport.closed);
    const watch = new Watch(options, link.signal);
    try {
      if (options.initial && watch.place !== undefined) {
        throw new InvalidValue("a watch begins with the current state, or after a place");
      }
      if (watch.place === undefined && !options.initial) {
        watch.place = await this.#now(options, link.signal);
        watch.isKnown = watch.place !== undefined;
      }
      if (link.signal.aborted) return;
      if (!this.join(watch)) this.#open(watch);
      for (;;) {
        const event = await watch.next();
        if (!event) return;
        yield event;
      }
    } finally {
      link.unlink();
      this.#leave(watch);
    }
  }

  /** A place to begin from: no later event is missed, even if the stream is cut at once. */
  async #now(options: WatchOptions, signal: AbortSignal): Promise<string | undefined> {
    const { prefixes: [prefix] = [], names: [name] = [] } = options;
    const params = prefix === undefined && name !== undefined
      ? { name, values: false } : { prefix: prefix ?? "", limit: 1, values: false };
    try {
      const { revision } = await this.transport.ask("GET", "/v1/properties", {
        statuses: [200], read: object<{ revision: number }>({ revision: "number" }), params, signal,
      });
      return String(revision);
    } catch (error) {
      // Its own stream reports the error.
      if (error instanceof LatchkeyError) return undefined;
      throw error;
    }
  }

  #open(watch: Watch): void {
    const stream = new Stream(this, watch);
    this.#streams.add(stream);
    void stream.run().finally(() => this.#streams.delete(stream));
  }

  /** Lets a watch with a place join a stream that is not ahead of it. Returns whether it did. */
  join(watch: Watch): boolean {
    if (watch.isAlone || !watch.isKnown) return false;
    for (const stream of this.#streams) {
      if (stream === watch.stream || !stream.isShareable) continue;
      if (order(watch.place!, stream.place!) < 0) continue;
      if (filter([...stream.watches, watch]) === undefined) continue;
      stream.add(watch);
      return true;
    }
    return false;
  }

  /** Gives the watch a stream of its own, from its place. */
  separate(watch: Watch): void {
    this.#leave(watch);
    watch.isAlone = true;
    this.#open(watch);
  }

  #leave(watch: Watch): void {
    const { stream } = watch;
    stream?.watches.delete(watch);
    stream?.hasRoom();
    if (stream?.watches.size === 0) stream.end();
  }
}

function eventOf(type: string, data: string): WatchEvent | undefined {
  let found: Partial<WatchEvent> | null;
  try {
    found = parse(data) as Partial<WatchEvent> | null;
  } catch {
    return undefined;
  }
  const { name = "", revision } = found ?? {};
  const isOfAll = type === "ready" || type === "gap";
  if (typeof revision !== "number" || typeof name !== "string") return undefined;
  if ((name === "") !== isOfAll) return undefined;
  return { ...found, name, revision, type: type as WatchEvent["type"], endsCommit: true };
}

async function opened(
  base: string, answer: Response,
): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const { status, headers, body } = answer;
  const type = headers.get("Content-Type") ?? "";
  if (status === 200 && body && /^text\/event-stream\s*(;|$)/i.test(type)) return body.getReader();
  throw failureOf(base, await received(answer));
}
