// The strategy that serves: its name in the head of the page, and the control that switches it.

const strategy = {
  /// Shows the name. The choice follows it until the reader has chosen another one.
  show(name) {
    if (!name) return;
    if ($("switch-to").value === $("strategy").textContent) $("switch-to").value = name;
    if ($("strategy").textContent !== name) this.showSince();
    write($("strategy"), name);
  },

  async showSince() {
    const answer = await ask("GET", "/v1/strategy");
    if (!answer.ok) return;
    const {strategy, atStart, since} = JSON.parse(answer.text);
    const later = strategy === atStart ? "" : ` A restart begins with ${atStart}.`;
    write($("serving"), `${strategy} serves since ${moment(new Date(since))}.${later}`);
  },

  async start() {
    const answer = await ask("GET", "/v1/strategies");
    if (!answer.ok) return;
    const {serving, strategies} = JSON.parse(answer.text);
    if ($("switch-to").length === 0) {
      $("switch-to").append(...strategies.map(({name}) => make("option", null, name)));
      $("switch-to").value = serving;
    }
    this.show(serving);
  },

  async switch() {
    const name = $("switch-to").value;
    note("switch-note", `Switching to ${name} …`);
    const answer = await ask("PUT", "/v1/strategy", {body: JSON.stringify({strategy: name}),
      headers: {"Content-Type": "application/json"}});
    if (!answer.ok) return note("switch-note", reason(answer), "bad");
    const {from, to, seconds, longestAccessSeconds} = JSON.parse(answer.text);
    this.show(to);
    note("switch-note", from === to ? `${to} serves already.`
      : `Switched from ${from} to ${to} in ${duration(1e9 * seconds)}. The longest access `
        + `meanwhile took ${duration(1e9 * longestAccessSeconds)}.`);
  },
};

$("switch").addEventListener("submit", event => {
  event.preventDefault();
  strategy.switch();
});
