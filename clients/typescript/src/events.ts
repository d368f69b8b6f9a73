/** Server-sent events (HTML standard, section 9.2), and the places in a watch. */

export interface StreamEvent {
  type: string;
  data: string;
  id: string | undefined;
}

/** Lines end with CR, LF or both. `retry` is in seconds. */
export class EventParser {
  retry: number | undefined;
  readonly #decoder = new TextDecoder();
  #rest = "";
  #endsWithReturn = false;
  #type = "";
  #data: string[] = [];
  #id: string | undefined;

  *events(piece: Uint8Array): Generator<StreamEvent> {
    let text = this.#decoder.decode(piece, { stream: true });
    if (text === "") return;
    if (this.#endsWithReturn && text.startsWith("\n")) text = text.slice(1);
    this.#endsWithReturn = text.endsWith("\r");
    const lines = text.split(/\r\n|\r|\n/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop()!;
    for (const line of lines) {
      if (line !== "") {
        this.#field(line);
        continue;
      }
      const event = { type: this.#type, data: this.#data.join("\n"), id: this.#id };
      this.#type = "";
      this.#data = [];
      this.#id = undefined;
      if (event.type !== "" || event.data !== "") yield event;
    }
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#type = text;
    else if (field === "data") this.#data.push(text);
    else if (field === "id") this.#id = text;
    else if (field === "retry" && /^\d+$/.test(text)) this.retry = Number(text) / 1000;
  }
}

/** The order of two places: `R` is after commit R, `R.K` after K effects of it. */
export function order(one: string, other: string): number {
  const [a, b] = [one, other].map(id => id.split("."));
  const [k, l] = [a, b].map(parts => Number(parts![1] ?? Infinity));
  return Number(a![0]) - Number(b![0]) || (k === l ? 0 : k! - l!);
}
