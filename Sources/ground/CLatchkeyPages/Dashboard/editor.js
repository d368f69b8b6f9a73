// The editor. It saves with If-Match, so that it never overwrites a value that its user has not
// seen.

const editor = {
  shownMax: 200_000, refreshMilliseconds: 500,
  name: undefined, isNew: false, text: "", ttlText: "",

  get isDirty() { return $("value").value !== this.text || $("ttl").value !== this.ttlText; },

  show(title) {
    $("editor").hidden = false;
    $("no-selection").hidden = true;
    $("name-field").hidden = !this.isNew;
    $("delete").hidden = $("history-part").hidden = this.isNew;
    write($("editor-title"), title);
    this.forgetNotes();
    revisions.forget();
    list.render();
  },

  forgetNotes() {
    note("editor-note", "");
    $("conflict").hidden = true;
    $("value").removeAttribute("aria-invalid");
    $("name").removeAttribute("aria-invalid");
  },

  /// Whether the content of the fields may be replaced.
  async mayLeave() {
    return !this.isDirty || isConfirmed("Your change is not saved. Discard it?", "Discard");
  },

  async create() {
    if (!await this.mayLeave()) return;
    Object.assign(this, {name: undefined, wanted: undefined, isNew: true, etag: undefined,
      revision: 0});
    this.fill("", "", undefined);
    $("name").value = list.prefix || list.folder;
    this.show("New property");
    list.remember();
    $("name").focus();
  },

  /// Shows what the address says: a property, or none.
  async visit(name) {
    if (name === this.wanted) return;
    if (!await this.mayLeave()) return list.remember("replaceState");
    if (name === undefined) return this.close();
    this.wanted = name;
    const answer = await property.read(name);
    // Another one was opened meanwhile.
    if (this.wanted !== name) return;
    Object.assign(this, {name, isNew: false});
    this.show(name);
    this.take(answer);
    this.focus();
  },

  focus() {
    $("editor-title").focus({preventScroll: innerWidth >= 992});
    if (innerWidth < 992) $("editor-card").scrollIntoView();
  },

  /// Fills the fields with a value that was read.
  take(answer) {
    if (!answer.ok) {
      Object.assign(this, {etag: undefined, revision: 0});
      this.fill("", "", undefined);
      return note("editor-note", reason(answer), "bad");
    }
    this.etag = answer.headers.get("etag");
    this.revision = revisionOf(answer);
    this.saved = answer.text;
    revisions.forget();
    const ttl = answer.headers.get("latchkey-ttl");
    this.fill(answer.text, ttl === null ? "" : String(Math.ceil(Number(ttl))),
      ttl === null ? undefined : now() + Number(ttl));
    this.showTime();
  },

  async showTime() {
    const {name, revision} = this;
    const date = await times.of(name, revision);
    if (this.name !== name || this.revision !== revision) return;
    $("editor-facts").title = `Revision ${revision}`;
    write($("editor-facts"),
      `changed ${date ? moment(date) : "at a time that the history does not have"}`);
  },

  fill(text, ttlText, deadline) {
    const isCut = text.length > this.shownMax;
    this.text = cut(text, this.shownMax);
    Object.assign(this, {ttlText, deadline});
    if ($("value").value !== this.text) $("value").value = this.text;
    // A text area has its own line ends.
    this.text = $("value").value;
    $("ttl").value = ttlText;
    $("value").readOnly = $("save").disabled = isCut;
    if (isCut) note("editor-note", "The value is too large to edit here. This is its beginning.");
    write($("editor-facts"), "");
    this.showExpiry();
  },

  showExpiry() {
    $("ttl-note").hidden = this.deadline === undefined;
    if (this.deadline === undefined) return;
    write($("ttl-note"),
      `Expires in ${seconds(this.deadline - now())}. Saving starts the time above.`);
  },

  close(way) {
    Object.assign(this, {name: undefined, isNew: false, wanted: undefined});
    this.fill("", "", undefined);
    $("editor").hidden = true;
    $("no-selection").hidden = false;
    list.render();
    list.remember(way);
  },

  /// Called with news of the list about the open property.
  check(revision, isGone = false) {
    if (this.name === undefined || this.isSaving || !(revision > this.revision)) return;
    if (!$("conflict").hidden && this.theirs.isGone) return;
    this.refreshTimer ||= setTimeout(async () => {
      this.refreshTimer = undefined;
      const name = this.name;
      if (name === undefined || $("value").readOnly) return;
      const answer = await property.read(name);
      if (this.name !== name || this.isSaving || revisionOf(answer) === this.revision) return;
      if (this.isDirty || !answer.ok) this.showConflict(answer);
      else {
        this.take(answer);
        this.forgetNotes();
      }
    }, isGone ? 0 : this.refreshMilliseconds);
  },

  async showConflict(answer) {
    if (!answer.ok && answer.status !== 404) return note("editor-note", reason(answer), "bad");
    const isGone = answer.status === 404;
    const isExisting = this.isNew && !isGone;
    const {name, revision} = this;
    const found = revisionOf(answer);
    const date = isGone || isExisting ? undefined : await times.of(name, found);
    if (this.name !== name || this.revision !== revision) return;
    write($("conflict-text"), isExisting ? `“${this.name ?? $("name").value}” exists already.`
      : isGone ? "Deleted meanwhile. Your text is not saved."
        : `Changed meanwhile${date ? `, at ${moment(date)}` : ""}. Your text is not saved.`);
    $("conflict-text").title = isGone ? "" : `Revision ${found}, not ${revision}`;
    $("conflict-value").hidden = isGone;
    write($("conflict-value"), cut(answer.text, 2000));
    write($("take-theirs"), isGone ? "Close" : "Load the newer value");
    write($("keep-mine"), isGone ? "Create it again with my value" : "Save mine over it");
    this.theirs = {answer, isGone, name: this.isNew ? $("name").value : this.name};
    $("conflict").hidden = false;
  },

  takeTheirs() {
    if (this.theirs.isGone) return this.close("replaceState");
    this.name = this.wanted = this.theirs.name;
    this.isNew = false;
    this.show(this.name);
    list.remember();
    this.take(this.theirs.answer);
    $("value").focus();
  },

  keepMine() {
    this.etag = this.theirs.isGone ? undefined : this.theirs.answer.headers.get("etag");
    this.save();
  },

  async save() {
    this.forgetNotes();
    const text = $("value").value;
    const name = this.isNew ? $("name").value : this.name;
    const wrong = mistake(text);
    if (name === "" || wrong !== undefined) {
      const field = name === "" ? $("name") : $("value");
      note("editor-note", name === "" ? "Give the property a name." : `This is not JSON: ${wrong}`,
        "bad");
      field.setAttribute("aria-invalid", "true");
      return field.focus();
    }
    const ttlText = $("ttl").value.trim();
    this.isSaving = true;
    const saved = await property.put(name, text, this.etag, ttlText);
    const found = saved.status === 412 ? await property.read(name) : undefined;
    this.isSaving = false;
    if (found) return this.showConflict(found);
    if (!saved.ok) return note("editor-note", reason(saved), "bad");
    Object.assign(this, {name, wanted: name, isNew: false, etag: saved.headers.get("etag"), text,
      ttlText, saved: text, revision: revisionOf(saved),
      deadline: ttlText === "" ? undefined : now() + Number(ttlText)});
    this.show(name);
    list.remember();
    this.showExpiry();
    times.keep(this.revision, new Date());
    this.showTime();
    note("editor-note", `Saved at ${moment(new Date())}.`);
    if (!hasRoute("/v1/watch")) list.load();
  },

  async delete() {
    if (!await isConfirmed(`Delete “${this.name}”?`, "Delete")) return;
    this.isSaving = true;
    const answer = await property.delete(this.name, this.etag);
    this.isSaving = false;
    if (answer.status === 412) return this.showConflict(await property.read(this.name));
    if (!answer.ok) return note("editor-note", reason(answer), "bad");
    this.close("replaceState");
    $("create").focus();
    list.load();
  },
};

async function isConfirmed(text, yes) {
  write($("confirm-text"), text);
  write($("confirm-yes"), yes);
  $("confirm").returnValue = "no";
  $("confirm").showModal();
  await new Promise(done => $("confirm").addEventListener("close", done, {once: true}));
  return $("confirm").returnValue === "yes";
}

$("editor").addEventListener("submit", event => { event.preventDefault(); editor.save(); });
$("create").addEventListener("click", () => editor.create());
$("close").addEventListener("click", async () => {
  if (!await editor.mayLeave()) return;
  editor.close();
  $("create").focus();
});
$("delete").addEventListener("click", () => editor.delete());
$("take-theirs").addEventListener("click", () => editor.takeTheirs());
$("keep-mine").addEventListener("click", () => editor.keepMine());

function format(field, noteId) {
  const wrong = mistake($(field).value);
  if (wrong === undefined) $(field).value = formatted($(field).value);
  note(noteId, wrong === undefined ? "" : `This is not JSON: ${wrong}`, "bad");
}
$("format").addEventListener("click", () => format("value", "editor-note"));
$("format-steps").addEventListener("click", () => format("steps", "start-note"));
