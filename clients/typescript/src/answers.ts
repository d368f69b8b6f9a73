/** The source and the content of an answer, and the meaning of a missing one. */

import {
  Busy, LatchkeyError, NotLatchkey, OutcomeUnknown, Problem, Unreachable, problem, retryAfter,
} from "./errors.js";
import { parse } from "./json.js";
import type { Outcome, Property } from "./types.js";

export interface Answer {
  status: number;
  headers: Headers;
  body: ArrayBuffer;
}

export async function received(answer: Response): Promise<Answer> {
  const { status, headers } = answer;
  return { status, headers, body: await answer.arrayBuffer() };
}

/** A failed attempt, and its consequences. */
export class Failure extends Error {
  readonly error: LatchkeyError;
  /** Whether to try again. */
  readonly passes: boolean;
  /** Whether the write may have been made. */
  readonly isInDoubt: boolean;
  /** Whether there was no answer; another address may give one. */
  readonly isSilent: boolean;
  /** Seconds before the next attempt, if the answer has them. */
  readonly delay: number;

  constructor(error: LatchkeyError, what: {
    passes?: boolean; isInDoubt?: boolean; isSilent?: boolean; delay?: number;
  } = {}) {
    super(error.message);
    this.error = error;
    this.passes = what.passes ?? false;
    this.isInDoubt = what.isInDoubt ?? false;
    this.isSilent = what.isSilent ?? false;
    this.delay = what.delay ?? 0;
  }
}

const passingInDoubt = [408, 500, 502, 503, 504];
const passing = [425, 429];

/** The failure for an answer without the expected status. */
export function failureOf(base: string, answer: Answer): Failure {
  const { status, headers, body } = answer;
  const found = problem(status, headers, new TextDecoder().decode(body));
  if (found instanceof Busy) return new Failure(found, { passes: true, delay: found.retryAfter });
  if (found?.type === "outcome-unknown") {
    return new Failure(found, { passes: true, isInDoubt: true });
  }
  // The write was made once, and its answer was too long to be kept.
  if (found?.type === "answer-not-kept") return new Failure(new OutcomeUnknown(found.message));
  if (found) return new Failure(found);
  // A redirect that a browser does not follow has no status.
  const what = status === 0 ? "a redirect" : `status ${status}`;
  const message = `${base}: ${what}, and not from Latchkey`;
  const delay = retryAfter(headers);
  const isInDoubt = passingInDoubt.includes(status);
  if (isInDoubt || passing.includes(status)) {
    return new Failure(new Unreachable(message), { passes: true, isInDoubt, delay });
  }
  return new Failure(new NotLatchkey(message));
}

const wrong = new RegExp("^(ENOTFOUND|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH"
  + "|ERR_TLS_CERT|ERR_INVALID_URL|ERR_SSL_(WRONG_VERSION|PACKET_LENGTH|TLSV|SSLV|HTTP_REQUEST))");
const neverSent = ["ECONNREFUSED", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH",
                   "UND_ERR_CONNECT_TIMEOUT"];

interface Cause {
  code?: unknown;
  syscall?: unknown;
}

/** The failure for an error of `fetch`. Only Node tells the reason. */
export function failureOfFetch(base: string, error: unknown): Failure {
  const cause = ((error as { cause?: unknown } | undefined)?.cause ?? error) as
    Cause & { message?: unknown; errors?: Cause[] } | undefined;
  const code = String(cause?.code ?? "");
  const reason = String(cause?.message || code || error);
  const unreachable = new Unreachable(`${base}: ${reason}`, error);
  if (wrong.test(code) || reason === "bad port") {
    return new Failure(unreachable, { isSilent: true });
  }
  if (code.startsWith("HPE_") && !code.startsWith("HPE_INVALID_EOF")) {
    return new Failure(new NotLatchkey(`${base}: the answer is not HTTP (${code})`, error));
  }
  // One for each address of a name.
  const parts = cause?.errors?.length ? cause.errors : [cause ?? {}];
  const isInDoubt = !parts.every(({ code, syscall }) =>
    neverSent.includes(String(code)) || syscall === "connect");
  return new Failure(unreachable, { passes: true, isSilent: true, isInDoubt });
}

/** An answer with the right status that is not Latchkey's. */
export class Unfit extends Error {}

function fits(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Unfit(what);
}

// Readers of an answer; they throw `Unfit` or `SyntaxError`.

export function nothing(): void {}

/** A proxy that compresses makes a strong tag a weak one. */
export function revision({ headers }: Answer): number {
  const digits = /^(?:W\/)?"(\d+)"$/.exec(headers.get("ETag") ?? "")?.[1];
  fits(digits !== undefined && Number.isSafeInteger(Number(digits)), "no revision");
  return Number(digits);
}

export function json({ headers, body }: Answer): unknown {
  const type = headers.get("Content-Type") ?? "";
  fits(/^application\/json\s*(;|$)/i.test(type), `"${type}" instead of JSON`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    throw new Unfit("not UTF-8");
  }
  return parse(text);
}

/** The value of one property; the answer must have a tag, too. */
export function value(answer: Answer): unknown {
  revision(answer);
  return json(answer);
}

export function property<Value>(name: string): (answer: Answer) => Property<Value> {
  return answer => {
    const { headers } = answer;
    const ttl = headers.get("Latchkey-TTL");
    return {
      name, revision: revision(answer), created: Number(headers.get("Latchkey-Created")) || 0,
      value: json(answer) as Value, ...(ttl === null ? {} : { ttl: Number(ttl) || 0 }),
    };
  };
}

/** An object whose members have these types. */
export function object<Value>(members: Record<string, string>): (answer: Answer) => Value {
  return answer => {
    const found = json(answer) as Record<string, unknown> | null;
    for (const [name, type] of Object.entries(members)) {
      const member = found?.[name];
      fits(type === "array" ? Array.isArray(member) : typeof member === type, `no ${name}`);
    }
    return found as unknown as Value;
  };
}

export const outcome =
  object<Outcome>({ succeeded: "boolean", revision: "number", results: "array" });

/** Whether a problem also decides an earlier attempt with the same key. */
export function isSettled(error: LatchkeyError): boolean {
  return error instanceof Problem && ![401, 403, 421, 429, 503].includes(error.status)
    && error.type !== "outcome-unknown";
}
