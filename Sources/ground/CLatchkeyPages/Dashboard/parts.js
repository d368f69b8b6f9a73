// One part is visible and only that one asks the service, and only while somebody can see the page.

const views = {overview, contention, properties: list, operations};
let current;

function show() {
  const name = location.hash.slice(1);
  if (!(name in views) && current !== undefined) return;
  current?.stop();
  const shown = name in views ? name : "overview";
  current = views[shown];
  for (const each of Object.keys(views)) $(`view-${each}`).hidden = each !== shown;
  for (const link of $("parts").children) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${$(shown + "-title").textContent} – Latchkey`;
  start();
}

function start() {
  if (document.hidden) return;
  strategy.start();
  current.start();
}

async function begin() {
  $("parts").hidden = false;
  const answer = await ask("GET", "/openapi.yaml");
  contract = answer.ok ? answer.text : "";
  addEventListener("hashchange", show);
  document.addEventListener("visibilitychange", () =>
    document.hidden ? current.stop() : start());
  show();
}
begin();
