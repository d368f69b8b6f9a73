// One part is visible and only that one asks the service, and only while the page is visible. The
// address says which, and for the properties also the view.

const views = {overview, contention, properties: list, operations};
let current;

function show() {
  const [name, query = ""] = location.hash.slice(1).split("?");
  if (!(name in views) && current !== undefined) return;
  const shown = name in views ? name : "overview";
  const isOpening = current !== views[shown];
  if (isOpening) enter(shown);
  if (current === list) list.visit(query, isOpening);
  if (isOpening) start();
}

function enter(shown) {
  current?.stop();
  current = views[shown];
  for (const each of Object.keys(views)) $(`view-${each}`).hidden = each !== shown;
  for (const link of $("parts").children) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${$(shown + "-title").textContent} – Latchkey`;
}

function start() {
  if (document.hidden) return;
  strategy.start();
  current.start();
}

async function begin() {
  $("parts").hidden = false;
  session.start();
  const answer = await ask("GET", "/openapi.yaml");
  contract = answer.ok ? answer.text : "";
  addEventListener("hashchange", show);
  document.addEventListener("visibilitychange", () =>
    document.hidden ? current.stop() : start());
  show();
}
begin();
