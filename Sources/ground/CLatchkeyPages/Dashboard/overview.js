// The overview: the figures of now, and charts of the last minutes, which the service keeps. So
// they are full when the page opens.

const overview = {
  pollMilliseconds: 2000, spanSeconds: 600, nearShare: 0.5, shownBounds: 4, timer: 0,

  charts: [
    {id: "requests", title: "Requests", soft: "Answered, in a second",
      lines: [["requests", point => point.requestsPerSecond]], text: value => count(value),
      least: 4, sum: ({requests}) => `${requests.toLocaleString()} since the start`},
    {id: "errors", title: "Errors", soft: "Answered with an error, in a second",
      lines: [["4xx", point => point.clientErrorsPerSecond],
        ["5xx", point => point.serverErrorsPerSecond]], text: value => count(value), least: 1,
      now: ({points}) => points.at(-1)?.clientErrorsPerSecond
        + points.at(-1)?.serverErrorsPerSecond,
      isBad: ({points}) => points.at(-1)?.serverErrorsPerSecond > 0,
      sum: ({serverErrors, clientErrors}) => `${serverErrors.toLocaleString()} (5xx) and `
        + `${clientErrors.toLocaleString()} (4xx) since the start`},
    {id: "contended", title: "Contended", soft: "Share of accesses that could not enter at once",
      lines: [["contended", point => point.contendedRatio]], text: value => percent(value),
      least: 0.01, greatest: 1,
      sum: ({points}) => `${count(points.at(-1)?.acquisitionsPerSecond)} accesses a second`},
    {id: "watchers", title: "Watchers", soft: "Watches and long polls",
      lines: [["watchers", point => point.watchers]], text: value => count(value), least: 4,
      now: ({watchers}) => watchers},
    {id: "memory", title: "Memory", soft: "Of the process, resident",
      lines: [["memory", point => point.memoryBytes]], text: value => bytes(value), least: 4e6,
      now: ({memoryBytes}) => memoryBytes},
    {id: "properties", title: "Properties", soft: "In the store",
      lines: [["properties", point => point.properties]], text: value => count(value), least: 4,
      now: ({properties}) => properties},
  ],

  start() {
    this.poll();
    watches.start();
    cluster.start();
  },

  stop() {
    clearTimeout(this.timer);
    this.run = undefined;
    watches.stop();
    cluster.stop();
  },

  /// The answer of the service, or undefined. A service without the route is not asked.
  async read() {
    if (!hasRoute("/v1/overview")) return undefined;
    const answer = await ask("GET", "/v1/overview");
    if (!answer.ok) {
      state("overview-state", reason(answer), "bad");
      return undefined;
    }
    return JSON.parse(answer.text);
  },

  async poll() {
    clearTimeout(this.timer);
    const run = this.run = {};
    const found = await this.read();
    if (this.run !== run) return;
    if (found) {
      this.received = now();
      this.latest = found;
      strategy.show(found.strategy);
      this.draw();
      this.showChange(found);
      state("overview-state", "Live", "good");
    }
    this.timer = setTimeout(() => this.poll(), this.pollMilliseconds);
  },

  draw() {
    const {latest} = this;
    if (!latest) return;
    write($("fact-properties"), latest.properties.toLocaleString());
    write($("fact-bytes"), bytes(latest.bytes));
    write($("fact-uptime"), span(latest.uptimeSeconds));
    for (const chart of this.charts) this.drawOne(chart, latest);
    this.drawBounds(latest.bounds);
    traffic.draw(latest.traffic);
  },

  drawOne(chart, latest) {
    const {id, title, lines, text, least, greatest = Infinity} = chart;
    const drawn = lines.map(([name, value], index) => ({name, index, points: latest.points.map(
      point => ({time: this.received - point.ageSeconds, value: value(point)}))}));
    const values = drawn.flatMap(({points}) => points.map(({value}) => value ?? 0));
    const top = Math.min(greatest, Math.max(least, ...values));
    drawChart($(`overview-${id}`), title, drawn, linearAxis(top), text,
      {spanMax: this.spanSeconds, filled: lines.length === 1});
    const now = chart.now?.(latest) ?? lines[0][1](latest.points.at(-1) ?? {});
    write($(`now-${id}`), text(now));
    if (chart.sum) write($(`sum-${id}`), chart.sum(latest));
    $(`now-${id}`).classList.toggle("bad", chart.isBad?.(latest) === true);
  },

  drawBounds(bounds) {
    // A history and a cache are always at their limits.
    const refusing = bounds.filter(({effect}) => effect === "refuses");
    const near = refusing.filter(bound => shareOf(bound) >= this.nearShare);
    write($("bounds-note"), near.length > 0 ? "At a bound, the service refuses what is new."
      : "Nothing has reached half of its bound. The nearest:");
    const shown = refusing.slice(0, Math.max(near.length, this.shownBounds));
    arrange($("bounds"), shown.map(bound => {
      const {prefix, used, limit} = bound;
      const name = `${bound.name}${prefix === undefined ? "" : ` ${prefix}`}`;
      const share = shareOf(bound);
      const line = this.boundLines.get(name) ?? this.boundLine(name);
      this.boundLines.set(name, line);
      const amount = /bytes|quota/.test(bound.name) ? bytes : value => value.toLocaleString();
      write(line.figures, `${amount(used)} of ${amount(limit)} · ${percent(share)}`,
        share >= 0.9 ? "state bad" : share >= this.nearShare ? "state busy" : "soft");
      line.bar.value = share;
      return line.element;
    }));
  },

  boundLines: new Map(),

  boundLine(name) {
    const figures = make("span", {class: "soft"});
    const bar = make("progress", {max: 1, "aria-label": `Used of ${name}`});
    return {figures, bar, element: make("li", null, make("code", null, name), figures, bar)};
  },

  /// The time of the last change, and the number of changes since the page was opened.
  async showChange({revision}) {
    if (revision === this.shownRevision) return;
    this.shownRevision = revision;
    this.firstRevision ??= revision;
    const date = await times.of("", revision);
    if (revision !== this.shownRevision) return;
    $("fact-change").title = `Revision ${revision}`;
    write($("fact-change"), date ? moment(date) : "–");
    const more = revision - this.firstRevision;
    write($("fact-changes"), more > 0 ? `+${more.toLocaleString()} while you watch` : "");
  },

  /// Makes the cards of the charts, once.
  build() {
    $("overview-charts").append(...this.charts.map(({id, title, soft, lines, sum}) => {
      const keys = lines.length === 1 ? [] : lines.map(([name], index) => make("span", null,
        make("svg", {class: `key c${index}`, viewBox: "0 0 34 14", "aria-hidden": "true"},
          stroke(index, "M1,7H33"), mark(index, 17, 7)), name));
      return make("figure", {class: "card"}, make("figcaption", null,
        make("div", {class: "bar"}, make("h3", null, title), keys,
          make("strong", {id: `now-${id}`}, "–")),
        make("small", null, soft, sum ? make("span", {id: `sum-${id}`}) : "")),
      make("div", {class: "chart", id: `overview-${id}`}));
    }));
  },
};

const shareOf = ({used, limit}) => limit > 0 ? used / limit : Number(used > 0);

overview.build();
new ResizeObserver(() => { if (!$("view-overview").hidden) overview.draw(); })
  .observe($("view-overview"));
