// The difference of two JSON texts: line by line as they are formatted, and word by word in a line
// that changed.

const difference = {
  textMax: 200_000, cellsMax: 4_000_000, context: 2,

  /// Lines {kind, parts}: kind is " ", "-" or "+"; parts are {text, isChanged}. Undefined if
  /// the texts are too long to be compared. A comma at the end of a line is no difference.
  lines(before, after) {
    if (Math.max(before.length, after.length) > this.textMax) return undefined;
    const [old, fresh] = [before, after].map(text => text === "" ? []
      : formatted(text).split("\n").map(text => ({text, key: text.replace(/,$/, "")})));
    const {start, end} = this.ends(old, fresh);
    const [gone, come] = [old, fresh].map(lines => lines.slice(start, lines.length - end));
    return [...fresh.slice(0, start).map(this.equal), ...this.middle(gone, come),
      ...fresh.slice(fresh.length - end).map(this.equal)];
  },

  equal: ({text}) => ({kind: " ", parts: [{text}]}),

  /// How many elements two lists share at their start and, in the rest, at their end.
  ends(a, b) {
    const most = Math.min(a.length, b.length);
    let [start, end] = [0, 0];
    while (start < most && a[start].key === b[start].key) start += 1;
    while (end < most - start && a.at(-1 - end).key === b.at(-1 - end).key) end += 1;
    return {start, end};
  },

  /// By the longest common subsequence. Where that takes too long, all lines count as changed.
  middle(a, b) {
    if (a.length * b.length > this.cellsMax) return this.run(a, b);
    const width = b.length + 1;
    const longest = new Uint32Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        const [below, right] = [(i + 1) * width + j, i * width + j + 1];
        longest[i * width + j] = a[i].key === b[j].key ? longest[below + 1] + 1
          : Math.max(longest[below], longest[right]);
      }
    }
    const found = [];
    let [i, j, gone, come] = [0, 0, [], []];
    const flush = () => {
      found.push(...this.run(gone, come));
      [gone, come] = [[], []];
    };
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i].key === b[j].key) {
        flush();
        found.push(this.equal(b[j]));
        [i, j] = [i + 1, j + 1];
      } else if (j === b.length
          || i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
        gone.push(a[i++]);
      } else come.push(b[j++]);
    }
    flush();
    return found;
  },

  /// Lines that were removed and lines that replace them: in pairs as far as possible.
  run(gone, come) {
    const pairs = gone.map(({key}, index) =>
      come[index] === undefined ? undefined : this.words(key, come[index].key));
    const marked = (kind, lines, place) => lines.map(({text, key}, index) => ({kind,
      parts: [...pairs[index]?.[place] ?? [{text: key}], {text: text.slice(key.length)}]}));
    return [...marked("-", gone, 0), ...marked("+", come, 1)];
  },

  /// The differences of two lines, each as parts; undefined if they share nothing.
  words(before, after) {
    const [a, b] = [before, after].map(text =>
      (text.match(/\s+|[\p{L}\p{N}_.+-]+|./gsu) ?? []).map(key => ({key})));
    const {start, end} = this.ends(a, b);
    if (start + end === 0) return undefined;
    const text = words => words.map(({key}) => key).join("");
    return [a, b].map(words => [{text: text(words.slice(0, start))},
      {text: text(words.slice(start, words.length - end)), isChanged: true},
      {text: text(words.slice(words.length - end))}].filter(({text}) => text !== ""));
  },

  /// The lines as an element, without those far from a change.
  element(lines) {
    const near = lines.map((_, index) => lines.slice(Math.max(0, index - this.context),
      index + this.context + 1).some(({kind}) => kind !== " "));
    const made = [];
    let hidden = 0;
    const skip = () => {
      if (hidden > 0) {
        const text = `⋯ ${hidden} equal ${hidden === 1 ? "line" : "lines"}\n`;
        made.push(make("span", {class: "soft"}, text));
      }
      hidden = 0;
    };
    lines.forEach(({kind, parts}, index) => {
      if (!near[index]) return void (hidden += 1);
      skip();
      const element = {"-": "del", "+": "ins", " ": "span"}[kind];
      const sign = kind === "-" ? "− " : `${kind} `;
      made.push(make(element, null, sign,
        parts.map(({text, isChanged}) => isChanged ? make("mark", null, text) : text), "\n"));
    });
    skip();
    return make("pre", {class: "difference", tabindex: 0, role: "group",
      "aria-label": "Difference"}, made);
  },
};
