// The revisions of the open property, the newest first, each with its time, the number of changes
// of the store since the one before, and its own change. The value before revision R is that as of
// R - 1.

const revisions = {
  step: 10, wholeMax: 2000,
  /// {revision, text, date}, as far as they were read.
  found: [],
  /// Why nothing comes before the last one, if that is known.
  end: undefined, isCreated: false,
  /// The reading in progress; another property begins another one.
  reading: undefined,

  forget() {
    Object.assign(this, {found: [], end: undefined, isCreated: false, reading: undefined});
    $("history").replaceChildren();
    write($("history-note"), "");
    write($("earlier"), "Show revisions");
    $("earlier").hidden = false;
  },

  /// One at a time: a second click would read the same revisions.
  showMore() {
    if (this.reading) return;
    const reading = this.readMore().finally(() => {
      if (this.reading === reading) this.reading = undefined;
    });
    this.reading = reading;
  },

  async readMore() {
    const {name, revision} = editor;
    const isOther = () => editor.name !== name || editor.revision !== revision;
    if (this.found.length === 0) this.found.push({revision, text: editor.saved});
    const wanted = this.found.length + this.step;
    while (this.found.length < wanted && this.end === undefined) {
      const last = this.found.at(-1).revision;
      const answer = await property.read(name, last - 1);
      if (isOther()) return;
      if (answer.ok) this.found.push({revision: revisionOf(answer), text: answer.text});
      else {
        this.isCreated = answer.status === 404;
        this.end = this.isCreated ? "The property did not exist before." : reason(answer);
      }
    }
    const dates = await Promise.all(this.found.map(entry => times.of(name, entry.revision)));
    if (isOther()) return;
    dates.forEach((date, index) => this.found[index].date = date);
    this.draw();
  },

  draw() {
    const way = $("compared").value;
    // The change of the last one is not known until the one before it is read.
    const shown = way === "before" && this.end === undefined ? this.found.slice(0, -1) : this.found;
    $("history").replaceChildren(...shown.map((entry, index) => {
      const {revision, text, date} = entry;
      const time = date ? moment(date) : "Time unknown";
      const before = this.found[index + 1]?.revision;
      const after = before === undefined ? (this.isCreated ? "created" : "")
        : `+${(revision - before).toLocaleString()}`;
      const use = index === 0 ? "" : button("Use", () => {
        $("value").value = text;
        $("value").focus();
      });
      if (use) use.setAttribute("aria-label", `Use the value of ${time}, ${after}`);
      return make("li", {"data-revision": revision}, make("div", {class: "bar"},
        make("strong", {title: `Revision ${revision}`}, time), make("span", {class: "soft"}, after),
        use), this.content(way, entry, index));
    }));
    write($("history-note"), this.end ?? "");
    write($("earlier"), "Show earlier ones");
    $("earlier").hidden = this.end !== undefined;
  },

  content(way, {text}, index) {
    const whole = make("pre", {tabindex: 0}, cut(text, this.wholeMax));
    const isFirst = index === this.found.length - 1;
    if (way === "none" || way === "before" && isFirst && !this.isCreated) return whole;
    const [before, after] = way === "before" ? [this.found[index + 1]?.text ?? "", text]
      : [text, this.found[0].text];
    if (way === "now" && index === 0) return make("p", {class: "soft"}, "The value of now.");
    const lines = difference.lines(before, after);
    if (lines === undefined) {
      return [make("p", {class: "soft"}, "Too long to be compared. Its beginning:"), whole];
    }
    if (lines.every(({kind}) => kind === " ")) {
      return make("p", {class: "soft"}, before === after ? "The same value."
        : "The same value, with other white space.");
    }
    return difference.element(lines);
  },
};

$("compared").addEventListener("change", () => {
  if (revisions.found.length > 0) revisions.draw();
});
$("earlier").addEventListener("click", () => revisions.showMore());
