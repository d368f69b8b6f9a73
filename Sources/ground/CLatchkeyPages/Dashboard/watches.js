// The first watches and long polls, and how far they are. Only for tokens with the right to see
// them.

const watchColumns = ["Names", "Token", "Address", "Since", "Revision", "Buffered", "State"];

const watches = {
  pollMilliseconds: 3000, shownMax: 50, timer: 0, lines: new Map(),

  start() {
    this.poll();
  },

  stop() {
    clearTimeout(this.timer);
    this.run = undefined;
  },

  async poll() {
    clearTimeout(this.timer);
    if (!hasRoute("/v1/watches")) {
      return write($("watches-note"), "This service does not say who watches.");
    }
    const run = this.run = {};
    const answer = await ask("GET", withQuery("/v1/watches", {limit: this.shownMax}));
    if (this.run !== run) return;
    // Without the right, the service is not asked again until the part is opened again.
    if (!answer.ok) {
      $("watches-part").hidden = true;
      write($("watches-facts"), "");
    }
    if (answer.status === 403) {
      return write($("watches-note"), "To see who watches, a token needs the right admin.");
    }
    if (answer.ok) this.show(JSON.parse(answer.text));
    else write($("watches-note"), reason(answer));
    this.timer = setTimeout(() => this.poll(), this.pollMilliseconds);
  },

  show({count: all, watches: found, next}) {
    this.lines = new Map(found.map(watch => [watch.id, this.lines.get(watch.id) ?? this.line()]));
    found.forEach(watch => this.update(this.lines.get(watch.id), watch));
    arrange($("watches"), [...this.lines.values()].map(({element}) => element));
    $("watches-part").hidden = found.length === 0;
    write($("watches-facts"),
      next === undefined ? `${all} now` : `${found.length} of ${all} shown`);
    write($("watches-note"), found.length === 0 ? "There is no watch and no long poll." : "");
  },

  line() {
    const head = make("th", {role: "rowheader"});
    const cells = watchColumns.slice(1).map(name => make("td", {role: "cell", "data-name": name}));
    const shown = make("span");
    cells.at(-1).append(shown);
    return {head, cells, shown, element: make("tr", {role: "row"}, head, cells)};
  },

  update({head, cells, shown}, watch) {
    const {prefixes, names, observer, token, address, since, revision, bufferedBytes} = watch;
    const starts = prefixes.map(prefix => prefix === "" ? "all names" : `${prefix}…`);
    const watched = [...starts, ...names].join(", ") || "a transaction in line";
    const by = observer === undefined ? "" : ` (${observer})`;
    if (head.textContent !== watched + by) {
      head.replaceChildren(watched, make("span", {class: "soft"}, by));
    }
    const [name, kind] = {live: ["live", "good"], behind: ["behind", "busy"],
      blocked: ["blocked", "bad"], waiting: ["poll", ""]}[watch.state];
    const began = since === undefined ? "–"
      : new Date(since).toLocaleTimeString([], {hour: "numeric", minute: "2-digit"});
    cells[3].title = `Revision ${revision}`;
    const place = behind(revision, overview.latest?.revision ?? 0);
    [token ?? "–", address ?? "–", began, place, bytes(bufferedBytes)]
      .forEach((text, index) => write(cells[index], text));
    write(shown, name, `state ${kind}`);
  },
};

$("watch-columns").append(...watchColumns.map(name => make("th", {role: "columnheader"}, name)));
