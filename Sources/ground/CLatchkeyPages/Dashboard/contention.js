// Contention. Counts are differences of /v1/contention. Quantiles over time come from the buckets
// of /metrics, because those of /v1/contention are since counting began.

const columns = ["Strategy", "Served", "Per second", "Contended", "Wait total", "Wait p50",
  "Wait p90", "Wait p99", "Waiting", "Acquisitions", "Metering", "Overhead"];

const contention = {
  strategies: new Map(), order: [], timer: 0, isPaused: false, windowSeconds: 10, shownMax: 6,

  start() {
    // The points that the service keeps from before.
    this.past = overview.read().then(({points = []} = {}) => points.map(point => ({
      time: now() - point.ageSeconds, rate: point.acquisitionsPerSecond,
      ratio: point.contendedRatio})));
    this.poll();
  },
  stop() { clearTimeout(this.timer); this.run = undefined; },

  async poll() {
    clearTimeout(this.timer);
    const run = this.run = {};
    const [report, metrics, past] = this.isPaused ? []
      : await Promise.all([ask("GET", "/v1/contention"), ask("GET", "/metrics"), this.past]);
    if (this.run !== run) return;
    if (this.isPaused) state("contention-state", "Paused");
    else if (report.ok) {
      const {rows, hottest} = JSON.parse(report.text);
      $("hottest").hidden = !hottest;
      write($("hottest"), hottest ?? "");
      this.take(rows, metrics.text, past);
      this.past = undefined;
      strategy.show(metrics.text.match(/^latchkey_strategy_info\{strategy="(.*)"\} 1$/m)?.[1]);
      showJournal(metrics.text);
      state("contention-state", "Live", "good");
    } else state("contention-state", reason(report), "bad");
    this.timer = setTimeout(() => this.poll(), 1000);
  },

  take(rows, metrics, past = []) {
    const waits = bucketsOf(metrics);
    for (const entry of this.strategies.values()) entry.row = undefined;
    for (const row of rows) {
      const key = `${row.strategy} ${row.role}`;
      if (!this.strategies.has(key)) this.strategies.set(key, this.entry(key, row));
      const entry = this.strategies.get(key);
      if (row.servesNow) {
        const last = entry.points.at(-1)?.time ?? -Infinity;
        entry.points.push(...past.filter(({time}) => time > last));
      }
      this.add(entry, row, waits.get(key));
    }
    this.order = rows.map(row => `${row.strategy} ${row.role}`);
    this.draw();
  },

  entry(name, row) {
    const index = this.strategies.size;
    const box = make("input", {type: "checkbox"});
    box.checked = index < this.shownMax;
    box.addEventListener("change", () => this.draw());
    const key = make("svg", {class: `key c${index % colors}`, viewBox: "0 0 34 14",
      "aria-hidden": "true"}, stroke(index, "M1,7H33"), mark(index, 17, 7));
    const head = make("th", {role: "rowheader"}, make("label", {class: "inline"}, box, key,
      make("span", null, row.strategy, row.role === "serving" ? ""
        : make("span", {class: "soft"}, ` ${row.role}`))));
    const cells = columns.slice(1).map(name => make("td", {role: "cell", "data-name": name}));
    return {name, index, box, cells, line: make("tr", {role: "row"}, head, cells), points: []};
  },

  /// Adds a point with the differences since the last one, or with gaps if there is none.
  add(entry, row, buckets) {
    const last = entry.points.at(-1);
    const point = {time: now(), since: row.since, acquisitions: row.acquisitions.all,
      contended: row.contended.all, buckets};
    const entries = point.acquisitions - last?.acquisitions;
    const isNext = last?.since === row.since && point.time - last.time < 5 && entries >= 0;
    if (isNext) {
      point.rate = entries / (point.time - last.time);
      point.ratio = entries === 0 ? undefined
        : Math.min(1, Math.max(0, (point.contended - last.contended) / entries));
    } else if (last) entry.points.push({time: point.time});
    const timed = entry.points.filter(each => each.buckets);
    const before = timed.findLast(each => each.time <= point.time - this.windowSeconds) ?? timed[0];
    for (const [name, share] of [["p50", 0.5], ["p90", 0.9], ["p99", 0.99]]) {
      point[name] = quantile(buckets, before?.buckets, share);
    }
    entry.row = row;
    entry.points = [...entry.points, point].filter(({time}) => time > point.time - spanSeconds - 5);
  },

  draw() {
    // As the report has them: the strategy that serves now, those that have served, the others.
    const entries = this.order.map(key => this.strategies.get(key)).filter(entry => entry?.row);
    $("figures").querySelector(".wide").hidden = entries.length === 0;
    $("no-figures").hidden = entries.length > 0;
    if (entries.length > 0) write($("since"), time(entries[0].row.since));
    for (const {row, cells, points} of entries) {
      const {acquisitions, contendedRatio, contendedIsExact, wait, waiters, level} = row;
      const mean = row.samplingMean > 1 ? ` 1/${row.samplingMean}` : "";
      const isEstimate = !contendedIsExact && contendedRatio !== null;
      const served = row.servedSeconds === undefined ? "–" : span(row.servedSeconds);
      [row.servesNow ? `${served}, now` : served, count(points.at(-1).rate),
        (isEstimate ? "≈ " : "") + percent(contendedRatio ?? NaN),
        duration(row.waitTotalNanoseconds || undefined),
        duration(wait.all?.p50Nanoseconds), duration(wait.all?.p90Nanoseconds),
        duration(wait.all?.p99Nanoseconds), count(waiters), count(acquisitions.all), level + mean,
        duration(row.overhead?.overheadNanoseconds),
      ].forEach((text, index) => write(cells[index], text));
    }
    arrange($("strategies"), entries.map(({line}) => line));

    const lines = member => entries.filter(({box}) => box.checked).map(({name, index, points}) =>
      ({name, index, points: points.map(point => ({time: point.time, value: point[member]}))}));
    const greatest = (lines, least) => Math.max(least,
      ...lines.flatMap(({points}) => points.map(({value}) => value ?? 0)).filter(Number.isFinite));
    const [rates, ratios] = [lines("rate"), lines("ratio")];
    drawChart($("chart-rate"), "Acquisitions per second", rates, linearAxis(greatest(rates, 4)),
      count);
    drawChart($("chart-ratio"), "Contended share", ratios,
      linearAxis(Math.min(1, greatest(ratios, 0.01))), percent);
    const which = document.querySelector("[name=quantile]:checked").value;
    const waits = lines(which);
    drawChart($("chart-wait"), `Wait, ${which}`, waits, logarithmicAxis(100, greatest(waits, 1e4)),
      duration);
  },
};

/// Shows the metrics of the files that keep the data, if there are any.
function showJournal(metrics) {
  const value = name =>
    Number(metrics.match(new RegExp(`^latchkey_data_${name} (\\S+)$`, "m"))?.[1]);
  const healthy = value("healthy");
  $("journal").hidden = Number.isNaN(healthy);
  if (Number.isNaN(healthy)) return;
  $("journal-health").hidden = healthy === 1;
  const buckets = new Map();
  for (const [, bound, sum] of metrics.matchAll(
      /^latchkey_data_batch_duration_seconds_bucket\{le="(.*)"\} (\S+)$/gm)) {
    buckets.set(bound, Number(sum));
  }
  const [commits, syncs] = [value("commits_total"), value("syncs_total")];
  const megabytes = name => `${(value(name) / 1e6).toFixed(1)} MB`;
  const parts = [`${count(commits)} commits in ${count(syncs)} syncs`,
    `a batch takes ${duration(quantile(buckets, new Map(), 0.5))} (p50), `
      + `${duration(quantile(buckets, new Map(), 0.99))} (p99)`,
    `${count(value("pending_commits"))} commits wait`,
    `the last sync was ${duration(1e9 * value("last_sync_age_seconds"))} ago`,
    `database ${megabytes("database_bytes")}, log ${megabytes("log_bytes")}`];
  write($("journal-facts"), parts.join("; ") + ".");
}

/// The cumulative buckets of the waits: for each strategy and role, from the upper bound to the
/// count.
function bucketsOf(metrics) {
  const result = new Map();
  for (const [, labels, value] of metrics.matchAll(
      /^latchkey_lock_wait_seconds_bucket\{(.*)\} (\S+)$/gm)) {
    const label = name => labels.match(`(?:^|,)${name}="([^"]*)"`)?.[1];
    const key = `${label("strategy")} ${label("role")}`;
    const bound = label("le");
    if (!result.has(key)) result.set(key, new Map());
    const buckets = result.get(key);
    buckets.set(bound, (buckets.get(bound) ?? 0) + Number(value));
  }
  return result;
}

/// A quantile in nanoseconds of the values added to `buckets` after `before`, linear in a bucket.
function quantile(buckets, before, share) {
  if (!buckets || !before) return undefined;
  const counts = [...buckets].map(([bound, value]) => [Number(bound.replace("+Inf", "Infinity")),
    value - (before.get(bound) ?? 0)]);
  const rank = share * counts.at(-1)[1];
  if (!(rank > 0)) return undefined;
  const place = counts.findIndex(([, value]) => value >= rank);
  const [low, below] = counts[place - 1] ?? [0, 0];
  const [high, upTo] = counts[place];
  return 1e9 * (Number.isFinite(high) ? low + (high - low) * (rank - below) / (upTo - below) : low);
}

$("columns").append(...columns.map(name => make("th", {role: "columnheader"}, name)));
$("quantiles").addEventListener("change", () => contention.draw());
$("pause").addEventListener("click", () => {
  contention.isPaused = !contention.isPaused;
  $("pause").setAttribute("aria-pressed", contention.isPaused);
  contention.poll();
});
$("reset").addEventListener("click", async () => {
  const answer = await ask("POST", "/v1/contention/reset");
  if (!answer.ok) state("contention-state", reason(answer), "bad");
});
new ResizeObserver(() => { if (!$("view-contention").hidden) contention.draw(); })
  .observe($("view-contention"));
