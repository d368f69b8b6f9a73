// Charts. Lines differ by colour, by the shape of their marks and, after seven, by dashes.

const colors = 7;
const shapes = ["M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", "M-3.5,-3.5h7v7h-7z", "M0,-4.5L4.5,3.5h-9z",
  "M0,-5L5,0L0,5L-5,0z", "M0,4.5L4.5,-3.5h-9z", "M-4.5,-1.5h9v3h-9z", "M-1.5,-4.5h3v9h-3z"];
const dashes = [undefined, "6 3", "2 3"];
const mark = (index, x, y) => make("path", {class: "mark", d: shapes[index % colors],
  transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`});
const stroke = (index, d) => make("path",
  {class: "line", d, "stroke-dasharray": dashes[Math.floor(index / colors) % dashes.length]});
const spanSeconds = 120;
/// The approximate number of marks of a line.
const markCount = 6;

/// The greatest value of an axis from 0 and its steps, all round.
function linearAxis(greatest) {
  const power = 10 ** Math.floor(Math.log10(greatest / 4));
  const step = [1, 2, 2.5, 5, 10].map(each => each * power).find(each => each * 4 >= greatest);
  return {ticks: [0, 1, 2, 3, 4].map(each => Number((each * step).toPrecision(3))),
    share: value => value / (4 * step)};
}

function logarithmicAxis(least, greatest) {
  const low = Math.floor(Math.log10(least));
  const high = Math.max(low + 1, Math.ceil(Math.log10(greatest)));
  return {ticks: Array.from({length: high - low + 1}, (_, index) => 10 ** (low + index)),
    share: value => (Math.log10(Math.max(value, least)) - low) / (high - low)};
}

/// Draws `lines`, each {name, index, points: [{time, value}]}. A value that is no number is a gap.
/// With `filled`, the area below the line is tinted. The chart begins at its first value, at most
/// `spanMax` seconds ago.
function drawChart(element, title, lines, axis, text,
  {spanMax = spanSeconds, filled = false} = {}) {
  const [width, height] = [Math.max(element.clientWidth, 200), Math.max(element.clientHeight, 100)];
  const [left, right, top, bottom] = [58, width - 8, 8, height - 22];
  const end = now();
  const ages = lines.flatMap(({points}) => points)
    .filter(({time, value}) => Number.isFinite(value) && time >= end - spanMax)
    .map(({time}) => end - time);
  const span = ages.length === 0 ? spanMax : Math.max(1, ...ages);
  const x = value => right - (end - value) / span * (right - left);
  const y = value => bottom - Math.min(1, axis.share(value)) * (bottom - top);
  const grid = axis.ticks.map(value => [
    make("path", {class: "grid", d: `M${left},${y(value).toFixed(1)}H${right}`}),
    make("text", {x: left - 6, y: y(value) + 4, "text-anchor": "end"}, text(value))]);
  const times = [[span, "start"], [span / 2, "middle"], [0, "end"]].map(([ago, anchor]) =>
    make("text", {x: x(end - ago), y: height - 4, "text-anchor": anchor},
      ago === 0 ? "now" : `${seconds(ago)} ago`));
  const drawn = lines.map(({name, index, points}) => {
    let [d, isPen, marked, area] = ["", false, undefined, ""];
    let [first, last] = [];
    const close = () => {
      if (isPen) area += `L${last},${bottom}H${first}Z`;
      isPen = false;
    };
    const marks = [];
    points.forEach(({time, value}, number) => {
      if (!Number.isFinite(value) || time < end - span) return close();
      const place = `${x(time).toFixed(1)},${y(value).toFixed(1)}`;
      // Without a length, it is a dot.
      d += isPen ? `L${place}` : `M${place}h0`;
      area += `${isPen ? "L" : "M"}${place}`;
      last = x(time).toFixed(1);
      if (!isPen) first = last;
      isPen = true;
      // Marks move with the line, because they stand at fixed times.
      const period = Math.floor(time * markCount / spanMax);
      if (marked !== undefined && period !== marked || number === points.length - 1) {
        marks.push(mark(index, x(time), y(value)));
      }
      marked = period;
    });
    close();
    return make("g", {class: `c${index % colors}`}, make("title", null, name),
      filled ? make("path", {class: "area", d: area}) : "", stroke(index, d), marks);
  });
  const latest = lines.map(({name, points}) => `${name} ${text(points.at(-1)?.value)}`).join(", ");
  element.replaceChildren(make("svg", {viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${title}, now: ${latest || "no figures"}`}, grid, times, drawn));
}
