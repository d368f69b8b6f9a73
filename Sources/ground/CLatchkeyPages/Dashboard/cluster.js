// The replicas of a cluster, with the last message of each; or the leader that the service follows.
// A service with neither is asked once, and the part stays hidden.

const replicaColumns = ["Replica", "Revision", "On disk up to", "Said", "State"];
const replicaKinds = {serving: "good", following: "good", promoted: "good", stale: "busy",
  connecting: "busy", seeding: "busy", "catching-up": "busy", draining: "off"};

const cluster = {
  // Replicas say what they do every 5 seconds.
  pollMilliseconds: 2000, silentSeconds: 15, timer: 0, lines: new Map(),

  start() {
    this.poll();
  },

  stop() {
    clearTimeout(this.timer);
    this.run = undefined;
  },

  async poll() {
    clearTimeout(this.timer);
    if (!hasRoute("/v1/cluster")) return;
    const run = this.run = {};
    const answer = await ask("GET", "/v1/cluster");
    if (this.run !== run) return;
    if (answer.ok) {
      const found = JSON.parse(answer.text);
      if (!found.cluster && !found.following) return;
      this.show(found);
    }
    this.timer = setTimeout(() => this.poll(), this.pollMilliseconds);
  },

  show({cluster, following}) {
    $("cluster").hidden = false;
    write($("cluster-title"), cluster ? `Cluster ${cluster.name}` : "Leader");
    $("cluster-part").hidden = !cluster;
    if (cluster) {
      write($("cluster-facts"), `level ${seconds(cluster.ageSeconds)} ago`);
      this.list(cluster.replicas);
    }
    if (following) this.follow(following);
  },

  list(replicas) {
    this.lines = new Map(replicas.map(({id}) => [id, this.lines.get(id) ?? this.line()]));
    const latest = Math.max(...replicas.map(({revision}) => revision));
    replicas.forEach(replica => this.update(this.lines.get(replica.id), replica, latest));
    arrange($("replicas"), [...this.lines.values()].map(({element}) => element));
  },

  line() {
    const head = make("th", {role: "rowheader"});
    const cells = replicaColumns.slice(1)
      .map(name => make("td", {role: "cell", "data-name": name}));
    const shown = make("span");
    cells.at(-1).append(shown);
    return {head, cells, shown, element: make("tr", {role: "row"}, head, cells)};
  },

  update({head, cells, shown}, {id, isThis, url, state, revision, storedPlace, noteSeconds},
    latest) {
    write(head, `${url ?? id}${isThis ? " (this one)" : ""}`);
    const said = isThis ? "now" : `${seconds(noteSeconds)} ago`;
    cells[0].title = `Revision ${revision}`;
    [behind(revision, latest), String(storedPlace), said]
      .forEach((text, index) => write(cells[index], text));
    // An old message may not be true any more.
    if (noteSeconds > this.silentSeconds) write(shown, `silent, was ${state}`, "state bad");
    else write(shown, state, `state ${replicaKinds[state] ?? "bad"}`);
  },

  follow({leader, state, isConnected, lagRevisions, ageSeconds}) {
    write($("cluster-facts"), state, `state ${replicaKinds[state] ?? "bad"}`);
    $("following-facts").hidden = false;
    write($("following-facts"), state === "promoted" ? `Followed ${leader} until it was promoted.`
      : `Follows ${leader}${isConnected ? "" : ", which does not answer"}. `
        + `Level ${seconds(ageSeconds)} ago, ${lagRevisions.toLocaleString()} revisions behind.`);
  },
};

$("replica-columns").append(
  ...replicaColumns.map(name => make("th", {role: "columnheader"}, name)));
