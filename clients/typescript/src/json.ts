/** JSON that keeps integers: those beyond 2⁵³ − 1 are `bigint`. */

import { InvalidValue } from "./errors.js";

/** A text that is not in `text`. */
function newMark(text: string): string {
  for (;;) {
    const mark = `integer ${Math.random()} `;
    if (!text.includes(mark)) return mark;
  }
}

/** Throws `SyntaxError` like `JSON.parse`. */
export function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  // Long integers become strings with a mark, and these `bigint`.
  const mark = newMark(text);
  const parts: string[] = [];
  const token = /"|-?[\d.]+[\d.eE+-]*/g;
  let start = 0;
  for (let found = token.exec(text); found; found = token.exec(text)) {
    const [word] = found as unknown as [string];
    if (word === '"') {
      token.lastIndex = endOfString(text, found.index);
    } else if (/^-?[1-9]\d{15,}$/.test(word) && !Number.isSafeInteger(Number(word))) {
      parts.push(text.slice(start, found.index), `"${mark}${word}"`);
      start = token.lastIndex;
    }
  }
  return JSON.parse(parts.join("") + text.slice(start), (_, value) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value);
}

/** The place after the closing quotation mark of the string that starts here. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ;) {
    const end = text.indexOf('"', at);
    if (end < 0) return text.length;
    let slashes = end;
    while (text[slashes - 1] === "\\") slashes -= 1;
    if ((end - slashes) % 2 === 0) return end + 1;
    at = end + 1;
  }
}

/** Throws `InvalidValue` for values that JSON or other readers cannot keep. */
export function stringify(value: unknown): string {
  const mark = newMark("");
  let hasLong = false;
  let text: string | undefined;
  try {
    text = JSON.stringify(value, function (this: unknown, _: string, one: unknown) {
      if (typeof one === "bigint") {
        hasLong = true;
        return mark + one;
      }
      const reason = refusal(this, one);
      if (reason) throw new InvalidValue(reason);
      return one;
    });
  } catch (error) {
    throw error instanceof InvalidValue ? error : new InvalidValue(`not JSON: ${error}`, error);
  }
  if (text === undefined) throw new InvalidValue("there is no value; null is one");
  return hasLong ? text.replace(new RegExp(`"${mark.replace(".", "\\.")}(-?\\d+)"`, "g"), "$1")
    : text;
}

function refusal(holder: unknown, one: unknown): string | undefined {
  if (typeof one === "number") {
    if (!Number.isFinite(one)) return `${one} is not a number of JSON`;
    if (Number.isInteger(one) && !Number.isSafeInteger(one)) {
      return `${one} may have lost digits: use a bigint`;
    }
  }
  if (typeof one === "function" || typeof one === "symbol") return `JSON has no ${typeof one}`;
  if (one === undefined && Array.isArray(holder)) return "JSON has no undefined in arrays";
  if (one instanceof Map || one instanceof Set) return "JSON has no Map and no Set";
  return undefined;
}
