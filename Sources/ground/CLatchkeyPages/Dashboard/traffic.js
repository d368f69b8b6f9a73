// Which properties, prefixes and tokens have the most requests, of those that the reader may see.

const traffic = {
  shown: 3, kinds: ["names", "prefixes", "tokens"], lines: new Map(),

  draw(found) {
    $("traffic").hidden = !found || this.kinds.every(kind => !found[kind]?.length);
    if ($("traffic").hidden) return;
    write($("traffic-note"), `of ${count(found.requestsPerSecond)} a second in the last `
      + `${span(found.seconds)}, one in ${found.sampledOneIn} counted`);
    $("traffic-with-tokens").hidden = !found.tokens?.length;
    for (const kind of this.kinds) {
      const some = (found[kind] ?? []).slice(0, this.shown);
      arrange($(`traffic-${kind}`), some.map(one => this.line(kind, one, found)));
    }
  },

  line(kind, {name, requestsPerSecond}, {requestsPerSecond: all}) {
    const key = `${kind} ${name}`;
    const line = this.lines.get(key) ?? this.make(name);
    // The service shows only some of each, and others as time passes.
    if (this.lines.size > 500) this.lines.clear();
    this.lines.set(key, line);
    const share = all > 0 ? Math.min(1, requestsPerSecond / all) : 0;
    write(line.figures, `${count(requestsPerSecond)} a second · ${percent(share)}`);
    line.bar.value = share;
    return line.element;
  },

  make(name) {
    const figures = make("span", {class: "soft"});
    const bar = make("progress", {max: 1, "aria-label": `Share of the requests of ${name}`});
    return {figures, bar, element: make("li", null, make("code", null, name), figures, bar)};
  },
};
