"use strict";
// Names and values are untrusted text. They reach the page as text nodes only: the policy of the
// page (Content-Security-Policy) also forbids making markup of strings.

const $ = id => document.getElementById(id);
const svgNames = ["svg", "path", "text", "title", "g"];

function make(name, attributes, ...children) {
  const element = svgNames.includes(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat(9).filter(child => child !== undefined && child !== ""));
  return element;
}

function button(text, action, kind) {
  const element = make("button", {type: "button", class: kind}, text);
  element.addEventListener("click", action);
  return element;
}

/// Writes only what changed, so that a screen reader reads a status once.
function write(element, text, kind) {
  if (element.textContent !== text) element.textContent = text;
  if (kind !== undefined) element.className = kind;
}
const state = (id, text, kind = "") => write($(id), text, `state ${kind}`);
const note = (id, text, kind = "") => write($(id), text, `note ${kind}`);

/// Makes the children of `parent` those in `elements`. A child that stays is not moved, or it would
/// lose the focus.
function arrange(parent, elements) {
  const kept = new Set(elements);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  let place = parent.firstElementChild;
  for (const element of elements) {
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}

// Requests

/// Sends a request, and again if the service asks for a token and the reader has one.
async function ask(method, path, options = {}) {
  const answer = await request(method, path, options);
  return answer.status === 401 && await session.open() ? request(method, path, options) : answer;
}

async function request(method, path, {headers, body, signal} = {}) {
  try {
    const response = await fetch(path, {method, headers, body, signal, cache: "no-store"});
    const {status, ok} = response;
    return {status, ok, headers: response.headers, text: await response.text()};
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return {status: 0, ok: false, headers: new Headers(), text: ""};
  }
}

/// Why a request failed, in the service's own words if it sent some.
function reason({status, text}) {
  if (status === 0) return "The service cannot be reached.";
  try {
    const {title, detail} = JSON.parse(text);
    return `${title} ${detail} (${status})`;
  } catch {
    return `The service answered with status ${status}.`;
  }
}

const withQuery = (path, query) => {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  return text.size ? `${path}?${text}` : path;
};

/// The paths of this service. A route that it does not have is not tried: the page says so.
let contract = "";
const hasRoute = path => contract === "" || contract.includes(`\n  ${path}:\n`);

// JSON. A number that a double cannot hold keeps its digits where the browser gives them.

const parse = text => JSON.parse(text, (_, value, context) =>
  typeof value === "number" && JSON.rawJSON && String(value) !== context.source
    && (context.source.match(/\d/g).length > 15 || !Number.isFinite(value))
    ? JSON.rawJSON(context.source) : value);

/// Why `text` is not JSON, or undefined.
function mistake(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    return error.message;
  }
}

/// The same JSON with line breaks: only the white space changes, not one number or member.
function formatted(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  let [depth, result] = [0, ""];
  const newLine = () => "\n" + "  ".repeat(depth);
  tokens.forEach((token, index) => {
    const [isOpening, isClosing] = ["{[".includes(token), "}]".includes(token)];
    if (isClosing) depth -= 1;
    if (isClosing && !"{[".includes(tokens[index - 1])) result += newLine();
    result += token === ":" ? ": " : token;
    if (isOpening) depth += 1;
    if (token === "," || isOpening && !"}]".includes(tokens[index + 1])) result += newLine();
  });
  return result;
}

const cut = (text, limit) => text.length > limit ? text.slice(0, limit) + "…" : text;
const shownValue = (value, limit) => cut(JSON.stringify(value) ?? "", limit);

// Figures: three digits and a unit.

function scaled(value, units) {
  if (!Number.isFinite(value)) return "–";
  const [name, size] = units.findLast(([, size]) => value >= size * 0.9995) ?? units[0];
  const number = value / size;
  const digits = Number.isInteger(number) || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return number.toFixed(digits) + name;
}
const count = value => scaled(value, [["", 1], ["k", 1e3], ["M", 1e6], ["G", 1e9], ["T", 1e12]]);
const duration = value => scaled(value, [[" ns", 1], [" µs", 1e3], [" ms", 1e6], [" s", 1e9]]);
const bytes = value => scaled(value, [[" B", 1], [" kB", 1e3], [" MB", 1e6], [" GB", 1e9]]);
const percent = value => Number.isFinite(value)
  ? scaled(Number((value * 100).toPrecision(3)), [["", 1]]) + " %" : "–";
const time = text => new Date(text).toLocaleTimeString();
/// A time; without the date if it is today.
const moment = date => date.toDateString() === new Date().toDateString()
  ? date.toLocaleTimeString() : date.toLocaleString([], {dateStyle: "medium", timeStyle: "medium"});
/// The distance of a revision from the latest one. Revisions have up to 16 digits.
const behind = (revision, latest) =>
  revision >= latest ? "latest" : `−${(latest - revision).toLocaleString()}`;
const seconds = value => value < 120 ? `${Math.max(0, value).toFixed(value < 10 ? 1 : 0)} s`
  : value < 7200 ? `${Math.round(value / 60)} min` : value < 172800
    ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} days`;
/// Two units, so that a small addition to a long time can be seen.
function span(value) {
  const [days, hours, minutes] =
    [value / 86400, value / 3600 % 24, value / 60 % 60].map(Math.floor);
  return days > 0 ? `${days} d ${hours} h` : hours > 0 ? `${hours} h ${minutes} min`
    : minutes > 0 ? `${minutes} min ${Math.floor(value % 60)} s` : `${Math.floor(value)} s`;
}
const now = () => performance.now() / 1000;
