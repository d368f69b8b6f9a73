/** The errors that this package throws; its calls throw no others. */

export class LatchkeyError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
  }
}

/** The service was not reached or did not answer in time. Nothing was changed. */
export class Unreachable extends LatchkeyError {}
/** The write may have been made, or may still be made: its answer was lost. */
export class OutcomeUnknown extends LatchkeyError {}
/** Something else answered: a proxy's page, a redirect. It has not passed the request on. */
export class NotLatchkey extends LatchkeyError {}
/** A value or an argument that cannot be sent as it is. Nothing was sent. */
export class InvalidValue extends LatchkeyError {}
/** The call was ended by its signal, or by closing the client. `cause` is the signal's reason. */
export class Cancelled extends LatchkeyError {}
/** A lock, an election or a claim was lost during the work. */
export class LeaseLost extends LatchkeyError {}
/** The lock was held by others the whole time. */
export class NotAcquired extends LatchkeyError {}
/** Another watch has the same `observer`. Do not watch again. */
export class Replaced extends LatchkeyError {}

/**
 * The service refused the request: nothing was changed.
 *
 * `type` is the name of the problem, such as "precondition-failed": decide by it, or by the class.
 * `detail` is for people. `leader`: the address of a follower's leader.
 */
export class Problem extends LatchkeyError {
  readonly status: number;
  readonly type: string;
  readonly detail: string;
  readonly retryAfter: number;
  readonly leader: string | undefined;

  constructor(
    status: number, type: string, detail: string, retryAfter: number, leader?: string,
  ) {
    super(`${status} ${type}: ${detail}${leader === undefined ? "" : ` (leader: ${leader})`}`);
    this.status = status;
    this.type = type;
    this.detail = detail;
    this.retryAfter = retryAfter;
    this.leader = leader;
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
/** There is no valid token. */
export class Unauthorized extends Problem {}
/** The token does not allow this. */
export class Forbidden extends Problem {}
/** The store, a quota or the disk is full. */
export class Full extends Problem {}
/** The service refuses for now: a rate, a share or a limit, or it starts or stops. */
export class Busy extends Problem {}

const problems: Record<string, typeof Problem> = {
  "not-found": NotFound, "precondition-failed": PreconditionFailed,
  "not-an-integer": NotAnInteger, overflow: NotAnInteger, gone: Gone,
  unauthorized: Unauthorized, forbidden: Forbidden, "store-full": Full,
  "quota-exceeded": Full, "disk-full": Full,
};

const prefix = "/problems/";

/** The problem in an answer of Latchkey; undefined for other answers. */
export function problem(status: number, headers: Headers, text: string): Problem | undefined {
  if (!(headers.get("Content-Type") ?? "").startsWith("application/problem+json")) return undefined;
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    return undefined;
  }
  if (typeof body["type"] !== "string" || !body["type"].startsWith(prefix)) return undefined;
  const type = body["type"].slice(prefix.length);
  const isBusy = status === 429 || status === 503;
  const Kind = isBusy ? Busy : Object.hasOwn(problems, type) ? problems[type]! : Problem;
  const leader = body["leader"];
  return new Kind(status, type, String(body["detail"] ?? ""), retryAfter(headers),
                  typeof leader === "string" ? leader : undefined);
}

/** The seconds of `Retry-After`, which may be a date; 0 without the field. */
export function retryAfter(headers: Headers): number {
  const text = headers.get("Retry-After") ?? "";
  const seconds = /^\s*\d+\s*$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return seconds > 0 ? seconds : 0;
}
