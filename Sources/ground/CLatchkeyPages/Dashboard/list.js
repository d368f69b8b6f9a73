// Properties: one page of a folder or of a search, kept up to date by a watch that starts at the
// page's revision. A folder is the part that names share up to a slash. The address of the page
// says which folder, search, page and property are shown; rows and steps are links, so that Back
// works.

/// The order of the service: bytes of UTF-8, which is the order of code points. JavaScript orders
/// strings differently.
function comparesBefore(left, right) {
  const [a, b] = [Array.from(left), Array.from(right)];
  const place = a.findIndex((each, index) => each !== b[index]);
  return place < 0 ? a.length < b.length
    : place < b.length && a[place].codePointAt(0) < b[place].codePointAt(0);
}

const list = {
  pageSize: 50, renderMilliseconds: 250, retryMilliseconds: 3000, emptyMilliseconds: 1000,
  /// By name; the name of a folder ends with a slash, and its row has no property.
  rows: new Map(),
  /// The prefix that is searched for; empty: a folder is shown.
  prefix: "", folder: "",
  /// Where the pages up to this one begin. A link has only the last of them.
  cursors: [""], next: undefined, timer: 0, renderTimer: 0,
  /// Folders in which something was removed.
  emptied: new Set(), emptiedTimer: 0,

  /// The names that are shown begin with this.
  get scope() { return this.prefix || this.folder; },

  start() { this.load(); this.clock = setInterval(() => this.showExpiries(), 1000); },

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.emptiedTimer);
    this.emptiedTimer = 0;
    clearInterval(this.clock);
    this.source?.close();
    this.run = undefined;
  },

  /// The address of the page that is shown, or of the first page of another folder or search.
  address({prefix = this.prefix, folder = this.folder, name = editor.name} = {}) {
    const isSame = prefix === this.prefix && folder === this.folder;
    return withQuery("#properties",
      {folder, prefix, after: isSame ? this.cursors.at(-1) : "", name: name ?? ""});
  },

  /// Writes the view into the address, and adds it to the history of the browser.
  remember(way = "pushState") {
    const isNew = this.address() !== location.hash;
    history[isNew ? way : "replaceState"]({cursors: this.cursors}, "", this.address());
  },

  /// Shows the view of the address; without a query, after another part, the last view.
  async visit(text, isOpening) {
    if (isOpening && text === "") return this.remember("replaceState");
    const query = new URLSearchParams(text);
    const [prefix, folder, after] =
      ["prefix", "folder", "after"].map(key => query.get(key) ?? "");
    const isOther = prefix !== this.prefix || folder !== this.folder
      || after !== this.cursors.at(-1);
    const {hash} = location;
    if (isOther) await this.go(prefix, folder, isOpening, after);
    if (hash !== location.hash) return;
    history.replaceState({cursors: this.cursors}, "");
    await editor.visit(query.get("name") ?? undefined);
  },

  /// Shows the results of a search, or another folder: the focus goes there.
  async go(prefix, folder, isOpening, after = "") {
    const isFolder = folder !== this.folder;
    const focused = document.activeElement.closest("#path") ? "#path a:last-child" : "#rows a";
    const known = history.state?.cursors ?? [];
    const cursors = known.at(-1) === after ? known : after === "" ? [""] : ["", after];
    Object.assign(this, {prefix, folder, cursors, rows: new Map()});
    $("prefix").value = prefix;
    this.showPath();
    if (isOpening) return;
    await this.load();
    if (isFolder) document.querySelector(focused)?.focus();
  },

  /// Shows another page.
  turn(cursors) {
    this.cursors = cursors;
    this.remember();
    this.load();
  },

  again(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), milliseconds);
  },

  async load() {
    clearTimeout(this.timer);
    this.source?.close();
    const run = this.run = {};
    const answer = await ask("GET", withQuery("/v1/properties",
      {prefix: this.scope, delimiter: this.prefix ? "" : "/", limit: this.pageSize,
        after: this.cursors.at(-1)}));
    if (this.run !== run) return;
    note("list-problem", answer.ok ? "" : reason(answer), "bad");
    if (!answer.ok) {
      state("watch-state", "Not connected; asks again every 3 s", "bad");
      return this.again(this.retryMilliseconds);
    }
    const page = parse(answer.text);
    const old = this.rows;
    const {properties, folders = []} = page;
    this.rows = new Map([...properties.map(({name}) => [name, old.get(name)]),
      ...folders.map(name => [name, old.get(name)])]);
    folders.forEach(name => this.putFolder(name));
    properties.forEach(property => this.put(property));
    this.next = page.next;
    this.render();
    // An open property that belongs on this page, but is not there, was removed.
    const isRemoved = editor.name?.startsWith(this.scope) && !this.rows.has(editor.name)
      && this.folderOf(editor.name) === undefined && !this.isOutside(editor.name);
    editor.check(isRemoved ? page.revision : this.rows.get(editor.name)?.revision);
    this.watch(page.revision);
  },

  watch(revision) {
    if (!hasRoute("/v1/watch")) {
      state("watch-state", "This service has no watch; asks every 3 s");
      return this.again(this.retryMilliseconds);
    }
    const source = this.source =
      new EventSource(withQuery("/v1/watch", {prefix: this.scope, after: revision}));
    state("watch-state", "Connecting…");
    source.addEventListener("open", () => state("watch-state", "Live", "good"));
    source.addEventListener("ready", () => state("watch-state", "Live", "good"));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CONNECTING) {
        return state("watch-state", "Connection lost; connecting again…", "bad");
      }
      state("watch-state", "Not live; asks every 3 s", "bad");
      this.again(this.retryMilliseconds);
    });
    source.addEventListener("put", event => this.changed(parse(event.data)));
    for (const kind of ["delete", "expire"]) {
      source.addEventListener(kind, event => this.removed(parse(event.data)));
    }
    // Changes were missed. The page is read again as a whole, a little later, since a reader that
    // is too slow would come here again at once.
    source.addEventListener("gap", () => {
      source.close();
      state("watch-state", "Changes were missed; reading again…", "bad");
      this.again(500);
    });
    source.addEventListener("close", () =>
      state("watch-state", "The service ended this watch", "bad"));
  },

  /// The folder row that hides a property; undefined if it has a row of its own.
  folderOf(name) {
    const end = this.prefix ? -1 : name.indexOf("/", this.folder.length);
    return end < 0 ? undefined : name.slice(0, end + 1);
  },

  changed(property) {
    times.keep(property.revision, new Date());
    editor.check(property.name === editor.name ? property.revision : undefined);
    const folder = this.folderOf(property.name);
    const name = folder ?? property.name;
    const isShown = this.rows.has(name);
    if (isShown ? folder !== undefined : this.isOutside(name)) return;
    if (folder === undefined) this.put(property);
    else this.putFolder(folder);
    this.render(this.renderMilliseconds);
  },

  removed({name, revision}) {
    if (name === editor.name) editor.check(revision, true);
    const folder = this.folderOf(name);
    if (folder !== undefined) return this.check(folder);
    this.rows.delete(name);
    this.render(this.renderMilliseconds);
  },

  /// Looks a moment later whether a folder is empty.
  check(folder) {
    if (!this.rows.has(folder)) return;
    this.emptied.add(folder);
    this.emptiedTimer ||= setTimeout(async () => {
      this.emptiedTimer = 0;
      const {run, emptied} = this;
      this.emptied = new Set();
      for (const each of emptied) {
        const answer = await ask("GET",
          withQuery("/v1/properties", {prefix: each, limit: 1, values: false}));
        if (this.run !== run) return;
        if (answer.ok && JSON.parse(answer.text).properties.length === 0) this.rows.delete(each);
      }
      this.render();
    }, this.emptyMilliseconds);
  },

  /// Whether a name belongs on an earlier or later page.
  isOutside(name) {
    const names = [...this.rows.keys()];
    return this.cursors.length > 1 && (names.length === 0 || comparesBefore(name, names[0]))
      || this.next !== undefined && names.length > 0 && comparesBefore(names.at(-1), name);
  },

  put(property) {
    const row = this.rows.get(property.name) ?? this.row(property.name);
    Object.assign(row, {ttl: undefined}, property, {deadline: now() + property.ttl});
    row.isChanged = true;
    row.isTimed = false;
    this.rows.set(property.name, row);
  },

  putFolder(name) {
    if (this.rows.get(name)) return;
    const face = make("a", {class: "row folder"},
      make("svg", {viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true"},
        make("path", {d: "M1.5,3h4.5l1.5,2h7v8.5h-13z"})),
      make("span", {class: "name"}, name.slice(this.folder.length)));
    this.rows.set(name, {name, folder: name, parts: {face}, line: make("li", null, face)});
  },

  /// The way to the folder that is shown.
  showPath() {
    const parts = this.folder.split("/").slice(0, -1);
    const steps = ["", ...parts.map((_, index) => `${parts.slice(0, index + 1).join("/")}/`)];
    $("path").hidden = this.prefix !== "";
    $("path").replaceChildren(...steps.map((folder, index) => {
      return make("a", {"data-folder": folder, "aria-current": folder === this.folder && "true"},
        index === 0 ? "All" : `${parts[index - 1]}/`);
    }));
  },

  row(name) {
    const shown = this.prefix ? name : name.slice(this.folder.length) || name;
    const [value, time, expiry] = [make("span", {class: "value mono"}),
      make("span", {class: "soft"}), make("span", {class: "expiry soft"})];
    const face = make("a", {class: "row"},
      make("span", {class: "name"}, shown), expiry, value, time);
    // The address of the row that is open is there already.
    face.addEventListener("click", () => { if (name === editor.name) editor.focus(); });
    return {parts: {face, value, time, expiry}, line: make("li", null, face)};
  },

  /// Draws the rows, at most four times in a second however many changes there are.
  render(delay) {
    if (delay !== undefined) {
      return void (this.renderTimer ||= setTimeout(() => this.render(), delay));
    }
    clearTimeout(this.renderTimer);
    this.renderTimer = 0;
    const rows = [...this.rows.values()].sort((a, b) => comparesBefore(a.name, b.name) ? -1 : 1);
    if (rows.length > this.pageSize) this.again(1000);
    this.rows = new Map(rows.slice(0, this.pageSize).map(row => [row.name, row]));
    for (const step of $("path").children) step.href = this.address(step.dataset);
    for (const row of this.rows.values()) {
      const {face, value, time} = row.parts;
      const {folder, name} = row;
      face.href = this.address(folder === undefined ? {name} : {folder});
      const isOpen = value !== undefined && row.name === editor.name;
      if (isOpen) face.setAttribute("aria-current", "true");
      else face.removeAttribute("aria-current");
      if (!row.isChanged) continue;
      row.isChanged = false;
      write(value, shownValue(row.value, 200));
      write(time, "");
    }
    arrange($("rows"), [...this.rows.values()].map(({line}) => line));
    this.showExpiries();
    this.showTimes();
    $("no-rows").hidden = this.rows.size > 0;
    $("previous").disabled = this.cursors.length === 1;
    $("next").disabled = this.next === undefined;
    write($("page-facts"), `Page ${this.cursors.length}, ${this.rows.size} shown`);
  },

  /// Says when the properties were changed, asking for one after another.
  async showTimes() {
    const {run} = this;
    if (this.timing === run) return;
    this.timing = run;
    for (let row; this.run === run && (row = [...this.rows.values()].find(({isTimed}) =>
      isTimed === false));) {
      row.isTimed = true;
      const {name, revision, parts} = row;
      const date = await times.of(name, revision);
      if (date === undefined) break;
      if (row.revision !== revision) continue;
      write(parts.time, date === null ? "" : moment(date));
      parts.time.title = `Revision ${revision}`;
    }
    if (this.timing === run) this.timing = undefined;
  },

  showExpiries() {
    for (const {ttl, deadline, parts} of this.rows.values()) {
      if (!parts.expiry) continue;
      write(parts.expiry, ttl === undefined ? "" : `expires in ${seconds(deadline - now())}`);
    }
    editor.showExpiry();
  },
};

/// The arrows go from row to row. So does the Tab key, which takes longer to leave a full page.
$("rows").addEventListener("keydown", event => {
  const line = document.activeElement.closest("#rows > li");
  const next = event.key === "ArrowDown" ? line?.nextElementSibling
    : event.key === "ArrowUp" ? line?.previousElementSibling : undefined;
  if (!next) return;
  event.preventDefault();
  next.firstElementChild.focus();
});
$("search").addEventListener("submit", event => {
  event.preventDefault();
  const prefix = $("prefix").value;
  if (prefix === list.prefix) list.go(prefix, list.folder);
  else location.hash = list.address({prefix});
});
list.showPath();
$("next").addEventListener("click", () => list.turn([...list.cursors, list.next]));
$("previous").addEventListener("click", () => list.turn(list.cursors.slice(0, -1)));
