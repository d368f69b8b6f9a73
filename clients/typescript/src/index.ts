/**
 * A client for Latchkey, for browsers and Node 18 or later.
 *
 *     import { Latchkey } from "latchkey";
 *
 *     const client = new Latchkey("http://127.0.0.1:8080");
 *     await client.put("greeting", { text: "hello" });
 *     console.log((await client.get("greeting")).value);
 *
 * Times are in seconds. `README.md` has more.
 */

export { Latchkey } from "./client.js";
export type { Steps } from "./calls.js";
export type { Clock } from "./clock.js";
export {
  Busy, Cancelled, Forbidden, Full, Gone, InvalidValue, LatchkeyError, LeaseLost, NotAcquired,
  NotAnInteger, NotFound, NotLatchkey, OutcomeUnknown, PreconditionFailed, Problem, Replaced,
  Unauthorized, Unreachable,
} from "./errors.js";
export { parse, stringify } from "./json.js";
export { Claim, Lease } from "./leases.js";
export type { Transaction } from "./leases.js";
export type {
  CallOptions, ClaimOptions, Condition, Json, LockOptions, MergeOptions, Options, Outcome, PopStep,
  Property, PutOptions, Result, Step, TimeOptions, WatchEvent, WatchOptions,
} from "./types.js";
