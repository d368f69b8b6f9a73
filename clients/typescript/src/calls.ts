/** Helpers that the calls share. */

import { object } from "./answers.js";
import { checkedSeconds } from "./clock.js";
import { NotFound } from "./errors.js";
import type { CallOptions, Property, Step, TimeOptions } from "./types.js";

/** The result of a handler of `work`: steps, all at once or one after the other. */
export type Steps = Iterable<Step> | AsyncIterable<Step> | void;

export interface Page {
  properties: Property[];
  next?: string;
}

export const readPage = object<Page>({ properties: "array" });

/** Only the options for the request. */
export function only({ signal }: CallOptions): CallOptions {
  return { signal };
}

export function lifetime({ ttl, ttlIfNew }: TimeOptions): Record<string, unknown> {
  if (ttl !== undefined) checkedSeconds("ttl", ttl);
  if (ttlIfNew !== undefined) checkedSeconds("ttlIfNew", ttlIfNew);
  return { ttl, "ttl-if-new": ttlIfNew };
}

export function conditions(
  { ifRevision, ifAbsent }: { ifRevision?: number; ifAbsent?: boolean },
): Record<string, string> {
  return {
    ...(ifRevision === undefined ? {} : { "If-Match": `"${ifRevision}"` }),
    ...(ifAbsent ? { "If-None-Match": "*" } : {}),
  };
}

export async function unlessMissing<Value, Other>(
  asked: Promise<Value>, otherwise: Other, mayBeMissing = true,
): Promise<Value | Other> {
  try {
    return await asked;
  } catch (error) {
    if (mayBeMissing && error instanceof NotFound) return otherwise;
    throw error;
  }
}

export async function collect(steps: Steps | Promise<Steps>): Promise<Step[]> {
  const all: Step[] = [];
  const found = await steps;
  if (found) for await (const step of found) all.push(step);
  return all;
}
