// Operations. A browser has about six connections to a service, for all tabs together. So only two
// operations are followed by events; the list itself is read again every two seconds.

const isFinal = operation => ["finished", "failed", "cancelled"].includes(operation.state);

const operations = {
  pageSize: 20, sourcesMax: 2, pollMilliseconds: 2000,
  shown: new Map(), sources: new Map(), older: [], next: undefined, timer: 0,

  start() { this.poll(); },

  stop() {
    clearTimeout(this.timer);
    this.run = undefined;
    for (const source of this.sources.values()) source.close();
    this.sources.clear();
  },

  async poll() {
    clearTimeout(this.timer);
    if (!hasRoute("/v1/operations")) {
      $("start").hidden = $("state-filter").parentElement.hidden = true;
      return state("operations-state", "This service has no operations");
    }
    const run = this.run = {};
    const answer = await ask("GET", withQuery("/v1/operations",
      {state: $("state-filter").value, limit: this.pageSize}));
    if (this.run !== run) return;
    if (answer.ok) {
      const page = parse(answer.text);
      if (this.older.length === 0) this.next = page.next;
      const known = new Set(page.operations.map(({id}) => id));
      this.render([...page.operations, ...this.older.filter(({id}) => !known.has(id))]);
      state("operations-state", "Live", "good");
    } else state("operations-state", reason(answer), "bad");
    this.timer = setTimeout(() => this.poll(), this.pollMilliseconds);
  },

  async showOlder() {
    const answer = await ask("GET", withQuery("/v1/operations",
      {state: $("state-filter").value, limit: this.pageSize, after: this.next}));
    if (!answer.ok) return state("operations-state", reason(answer), "bad");
    const page = parse(answer.text);
    this.older.push(...page.operations);
    this.next = page.next;
    this.poll();
  },

  render(found) {
    this.shown = new Map(found.map(({id}) => [id, this.shown.get(id) ?? this.card(id)]));
    found.forEach(operation => this.update(operation));
    arrange($("operations"), [...this.shown.values()].map(({element}) => element));
    $("no-operations").hidden = found.length > 0;
    $("older").hidden = this.next === undefined;
    this.follow(found);
  },

  card(id) {
    const parts = {title: make("strong"), state: make("span", {class: "state", role: "status"}),
      bar: make("progress", {max: 1, "aria-label": "Progress"}),
      facts: make("span", {class: "soft"}), result: make("pre", {hidden: ""}),
      cancel: button("Cancel", () => this.cancel(id))};
    const element = make("article", {class: "operation"},
      make("div", {class: "bar"}, parts.title, parts.state, parts.cancel), parts.bar, parts.facts,
      parts.result);
    return {...parts, element};
  },

  update(operation) {
    const card = this.shown.get(operation.id);
    // Answers of the list can be older than the last event.
    if (!card || card.isFinal && !isFinal(operation)) return;
    card.isFinal = isFinal(operation);
    const {id, name, state, priority, progress, step, steps, created, dependsOn} = operation;
    write(card.title, name ?? `Operation ${id}`);
    const kinds = {executing: "busy", finished: "good", failed: "bad", cancelled: "off"};
    write(card.state, state, `state ${kinds[state] ?? ""}`);
    card.bar.value = progress;
    const done = Math.round(progress * 100);
    write(card.facts, [`${done} %`, `step ${step} of ${steps}`, `priority ${priority}`,
      `created ${time(created)}`, name === undefined ? "" : `id ${id}`,
      dependsOn?.length ? `after ${dependsOn.join(", ")}` : ""].filter(Boolean).join(" · "));
    const {error, value} = operation;
    const result = error ? `${error.title ?? ""} ${error.detail ?? ""}`
      : value === undefined ? "" : shownValue(value, 500);
    write(card.result, result);
    card.result.hidden = result === "";
    card.cancel.hidden = card.isFinal;
    card.cancel.setAttribute("aria-label", `Cancel ${name ?? id}`);
  },

  /// Follows the first operations that have not ended, executing ones before others.
  follow(found) {
    const running = found.filter(operation => !isFinal(operation));
    const [ahead, behind] = [true, false].map(isAhead =>
      running.filter(({state}) => (state === "executing") === isAhead));
    const followed = [...ahead, ...behind].slice(0, this.sourcesMax);
    for (const [id, source] of this.sources) {
      if (followed.some(operation => operation.id === id)) continue;
      source.close();
      this.sources.delete(id);
    }
    for (const operation of followed) {
      if (!this.sources.has(operation.id)) this.sources.set(operation.id, this.source(operation));
    }
  },

  source(operation) {
    const source = new EventSource(`/v1/operations/${encodeURIComponent(operation.id)}/events`);
    let latest = operation;
    for (const kind of ["state", "progress"]) {
      source.addEventListener(kind, event => {
        latest = {...latest, ...parse(event.data)};
        this.update(latest);
        // The stream ends with the final state. An event source would connect again.
        if (isFinal(latest)) source.close();
      });
    }
    source.addEventListener("error", () => source.close());
    return source;
  },

  async cancel(id) {
    const answer = await ask("DELETE", `/v1/operations/${encodeURIComponent(id)}`);
    if (!answer.ok) state("operations-state", reason(answer), "bad");
    else this.poll();
  },

  async submit() {
    for (const field of ["steps", "catch"]) $(field).removeAttribute("aria-invalid");
    const wrong = ["steps", "catch"].map(field => [field, mistake($(field).value || "[]")])
      .find(([, text]) => text !== undefined);
    if (wrong) {
      note("start-note", `The ${wrong[0]} are not JSON: ${wrong[1]}`, "bad");
      $(wrong[0]).closest("details")?.setAttribute("open", "");
      $(wrong[0]).setAttribute("aria-invalid", "true");
      return $(wrong[0]).focus();
    }
    const ids = $("depends").value.split(/[\s,]+/).filter(Boolean);
    // The steps are sent as they were typed, so that numbers keep their spelling.
    const members = [["steps", $("steps").value || "[]"],
      ["priority", JSON.stringify($("priority").value)],
      ["name", $("operation-name").value && JSON.stringify($("operation-name").value)],
      ["after", $("delay").value && JSON.stringify(Number($("delay").value))],
      ["dependsOn", ids.length ? JSON.stringify(ids) : ""], ["catch", $("catch").value.trim()]];
    const body = members.filter(([, text]) => text).map(([key, text]) => `"${key}":${text}`).join();
    const answer = await ask("POST", "/v1/operations",
      {headers: {"Content-Type": "application/json"}, body: `{${body}}`});
    note("start-note", answer.ok ? `Started operation ${parse(answer.text).id}.` : reason(answer),
      answer.ok ? "" : "bad");
    this.poll();
  },
};

const examples = {
  "Count, wait, count again": [{increment: "demo/counter"}, {wait: 5},
    {increment: "demo/counter", by: 10}],
  "Copy a property": [{get: "demo/counter"}, {put: "demo/copy"}],
  "Compare two strategies": [{compare: {strategies: ["lock", "adaptive"], threads: 2, seconds: 5}}],
};

function showExample() {
  $("steps").value = formatted(JSON.stringify(examples[$("example").value]));
}
$("example").append(...Object.keys(examples).map(name => make("option", null, name)));
$("example").addEventListener("change", showExample);
showExample();
$("start").addEventListener("submit", event => { event.preventDefault(); operations.submit(); });
$("older").addEventListener("click", () => operations.showOlder());
$("state-filter").addEventListener("change", () => {
  Object.assign(operations, {older: [], next: undefined});
  operations.poll();
});
