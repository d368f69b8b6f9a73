// One property. Its name is a segment of a path, and a browser treats the segments `.` and `..` as
// steps through folders, in their percent-encoded form, too. So these two names are read and
// written by transactions, and their past by exports, with the same answers.

const propertyPath = name => `/v1/properties/${encodeURIComponent(name)}`;
const hasNoPath = name => name === "." || name === "..";
const revisionOf = ({headers}) => Number((headers.get("etag") ?? "").replace(/^W\/|"/g, ""));

const property = {
  /// The value, as of a revision if one is given.
  read(name, revision) {
    if (!hasNoPath(name)) {
      return ask("GET", withQuery(propertyPath(name), {revision: revision ?? ""}));
    }
    return revision === undefined ? pathless.read(name) : pathless.readPast(name, revision);
  },

  /// Replaces the value with this entity tag; without one, creates. `text` is valid JSON.
  put(name, text, etag, ttl) {
    if (hasNoPath(name)) {
      const time = ttl === "" ? "" : `,"ttl":${JSON.stringify(Number(ttl))}`;
      return pathless.change(name, etag, `{"put":${JSON.stringify(name)},"value":${text}${time}}`);
    }
    const condition = etag === undefined ? {"If-None-Match": "*"} : {"If-Match": etag};
    return ask("PUT", withQuery(propertyPath(name), {ttl}),
      {headers: {"Content-Type": "application/json", ...condition}, body: text});
  },

  delete(name, etag) {
    return hasNoPath(name) ? pathless.change(name, etag, JSON.stringify({delete: name}))
      : ask("DELETE", propertyPath(name), {headers: {"If-Match": etag}});
  },
};

/// When changes were made, as the history of the service says. A revision itself has no time.
const times = {
  knownMax: 1000, known: new Map(),

  keep(revision, date) {
    if (this.known.size >= this.knownMax) this.known.clear();
    this.known.set(revision, date);
  },

  /// A date, or null if the history does not have this revision; undefined if that is not known.
  async of(name, revision) {
    if (this.known.has(revision)) return this.known.get(revision);
    const answer = await ask("GET",
      withQuery("/v1/changes", {after: revision - 1, limit: 1, prefix: name}));
    if (!answer.ok && answer.status !== 410) return undefined;
    const [change] = answer.ok ? JSON.parse(answer.text).changes : [];
    this.keep(revision, change?.revision === revision ? new Date(change.time) : null);
    return this.known.get(revision);
  },
};

const pathless = {
  async read(name) {
    const answer = await this.commit([], JSON.stringify({get: name}));
    if (!answer.ok) return answer;
    const [{revision, ttl}] = JSON.parse(answer.text).results;
    if (revision === 0) return this.missing();
    // The bytes of the value, which is the last member.
    const start = answer.text.indexOf('"value":') + '"value":'.length;
    return this.found(revision, ttl, answer.text.slice(start, -"}]}".length));
  },

  /// Of the names that begin with `name`, it is the first.
  async readPast(name, revision) {
    const answer = await ask("GET", withQuery("/v1/export", {prefix: name, revision}));
    if (!answer.ok) return answer;
    const [line] = answer.text.split("\n", 1);
    const start = `{"name":${JSON.stringify(name)},"value":`;
    if (!line.startsWith(start)) return this.missing();
    const [rest, past, ttl] = line.match(/,"revision":(\d+),"created":\d+(?:,"ttl":([\d.]+))?}$/);
    return this.found(Number(past), ttl, line.slice(start.length, -rest.length));
  },

  async change(name, etag, step) {
    const condition = etag === undefined ? {name, exists: false}
      : {name, revision: revisionOf({headers: new Headers({etag})})};
    const answer = await this.commit([condition], step);
    if (!answer.ok) return answer;
    const {succeeded, results} = JSON.parse(answer.text);
    return succeeded ? this.found(results[0].revision, undefined, "")
      : {status: 412, ok: false, headers: new Headers(), text: ""};
  },

  commit(conditions, step) {
    return ask("POST", "/v1/transactions", {headers: {"Content-Type": "application/json"},
      body: `{"if":${JSON.stringify(conditions)},"then":[${step}]}`});
  },

  found(revision, ttl, text) {
    const headers = new Headers({etag: `"${revision}"`});
    if (ttl !== undefined) headers.set("latchkey-ttl", ttl);
    return {status: 200, ok: true, headers, text};
  },

  missing() {
    const text = JSON.stringify({title: "There is no such property.", detail: ""});
    return {status: 404, ok: false, headers: new Headers(), text};
  },
};
