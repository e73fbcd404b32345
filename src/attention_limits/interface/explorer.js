// The explorer: reads the cubes of the page, and draws one variable of one cube as the controls ask.
"use strict";

// Okabe and Ito's palette, as in the figures; a longer axis gets a scale from blue to red.
const COLORS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const MARKERS = ["circle", "square", "diamond", "triangle-up"];
const cubes = JSON.parse(document.getElementById("cubes").textContent);
const element = (id) => document.getElementById(id);
const NARROW = matchMedia("(max-width: 45rem)"), TOUCH = matchMedia("(pointer: coarse)");
let cube, variable, shown; // `shown`: the rows of the picture, which the CSV holds
let lost = ""; // the cube that an address names and the page does not have
let address; // the hash of the address that the page has written last

// Numbers of a cube: unpacked when it is first shown.
async function unpack(cube) {
  if (cube.array) return;
  const bytes = Uint8Array.from(atob(cube.numbers), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  cube.array = new Float64Array(await new Response(stream).arrayBuffer());
}

// The value of a variable at a place {dimension: index}, NaN where an estimator has none.
function at(name, place) {
  const {dims, shape, offset, estimator} = cube.variables[name];
  const owners = cube.coordinates.estimator?.values;
  if (owners && estimator && !dims.includes("estimator") && place.estimator !== undefined &&
      owners[place.estimator] !== estimator) return NaN;
  let index = 0;
  dims.forEach((dim, i) => { index = index * shape[i] + (place[dim] ?? 0); });
  return cube.array[offset + index];
}

const size = (dim) => variable.shape[variable.dims.indexOf(dim)];
const values = (dim) => {
  const all = cube.coordinates[dim].values, kept = variable.kept[dim];
  return kept ? kept.map((i) => all[i]) : all;
};
// The symbol of a parameter; of a layer or a token the name, because an index is no symbol that a reader knows.
const symbol = (dim) => (cube.grid.includes(dim) && dim !== "replica" && cube.coordinates[dim].symbol) || dim;
const number = (value) => typeof value === "number" ? Number(value.toPrecision(6)).toString() : String(value);
const words = (it, name) => `${it?.long_name || name.replaceAll("_", " ")}${it?.symbol ? `, ${it.symbol}` : ""}`;
const wrapped = (line, width) => line.replace(new RegExp(`(.{${width}}\\S*) `, "g"), "$1<br>");
const axisTitle = (it, name) => wrapped(words(it, name), 40) + (it?.unit ? `<br><sub>${wrapped(it.unit, 45)}</sub>` : "");

// A dimension as an entry of a list: its name in the address, its words for the reader.
const dimension = (dim) => [dim, words(cube.coordinates[dim], dim)];

// The second of two equal dimensions (layer_star of layer, site_other of site), whose slice may follow the first one.
const partner = (dim) => {
  const first = dim.replace(/_(star|other)$/, "");
  return first !== dim && variable.dims.includes(first) && size(first) === size(dim) ? first : null;
};

function options(select, items, chosen) {
  select.replaceChildren(...items.map(([value, text]) => new Option(text, value, false, value === chosen)));
}

// The variables in groups: results, their errors, flags and counts.
function variableOptions(chosen) {
  const named = (name) => words(cube.variables[name], name);
  element("variable").replaceChildren(...["result", "error", "flag"].map((role) => {
    const group = Object.assign(document.createElement("optgroup"), {label: {result: "Results", error: "Errors", flag: "Flags and counts"}[role]});
    const names = Object.keys(cube.variables).filter((name) => cube.variables[name].role === role);
    group.append(...names.map((name) => new Option(named(name), name, false, name === chosen)));
    return group;
  }).filter((group) => group.children.length));
}

// The controls, from the cube to the slices. A result that the new cube has too stays; a flag or an error does not.
function chooseCube(index) {
  const before = variable?.role === "result" ? element("variable").value : "";
  cube = cubes[index];
  element("cube").value = index;
  variableOptions(cube.variables[before] ? before : cube.first);
  chooseVariable();
}

function chooseVariable() {
  variable = cube.variables[element("variable").value];
  const dims = variable.dims.filter((dim) => dim !== "replica" && size(dim) > 1);
  const axes = dims.filter((dim) => dim !== "estimator");
  const grid = axes.filter((dim) => cube.grid.includes(dim));
  const longest = (names) => names.reduce((a, b) => (a === null || size(b) > size(a) ? b : a), null);
  // A trajectory or a map is drawn along itself, everything else along the grid.
  const inner = axes.filter((dim) => !cube.grid.includes(dim) && size(dim) > 8);
  const x = longest(inner) ?? longest(grid) ?? longest(axes) ?? variable.dims.find((dim) => dim !== "replica" && dim !== "estimator") ?? variable.dims[0];
  // A logarithmic axis would hide the zeros of another variable.
  element("logx").checked = element("logy").checked = false;
  options(element("x"), (axes.length ? axes : [x]).map(dimension), x);
  chooseX();
}

function chooseX() {
  const x = element("x").value;
  const dims = variable.dims.filter((dim) => dim !== "replica" && dim !== x && size(dim) > 1);
  const few = dims.find((dim) => dim !== "estimator" && size(dim) <= 8 && !partner(dim) && partner(x) !== dim);
  options(element("color"), [["", "none"], ...dims.map(dimension)], few ?? "");
  chooseColor();
}

function chooseColor() {
  const used = [element("x").value, element("color").value, "replica", "estimator"];
  const dims = variable.dims.filter((dim) => !used.includes(dim) && size(dim) > 1);
  element("slices").hidden = dims.length === 0;
  element("sliders").replaceChildren(...dims.map((dim) => {
    const label = document.createElement("label"), text = document.createElement("output");
    const slider = Object.assign(document.createElement("input"), {type: "range", name: dim, min: partner(dim) ? -1 : 0, step: 1});
    slider.max = size(dim) - 1;
    slider.value = dim.endsWith("_star") && partner(dim) ? -1 : Math.floor(size(dim) / 2);
    label.append(`${words(cube.coordinates[dim], dim)} `, text, slider);
    slider.addEventListener("input", draw);
    return label;
  }));
  if (!restoring) draw();
}

// The state of the page as the hash of its address, so that a link or a reload shows the same picture.
function remember() {
  const state = new URLSearchParams({cube: `${cube.family}/${cube.name}`});
  for (const id of ["variable", "x", "color"]) state.set(id, element(id).value);
  for (const slider of element("sliders").querySelectorAll("input")) state.set(`at.${slider.name}`, slider.value);
  if (document.querySelector("[name=replicas]:checked").value === "each") state.set("replicas", "each");
  for (const id of ["logx", "logy"]) if (element(id).checked) state.set(id, "1");
  address = `#${state}`.replaceAll("%2F", "/");
  if (location.hash !== address) history.replaceState(null, "", address);
}

// Sets the controls as a hash says. What the page does not have keeps its default.
let restoring = false;
function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  const index = cubes.findIndex((one) => `${one.family}/${one.name}` === state.get("cube"));
  const choose = (id, next) => {
    const select = element(id), wanted = state.get(id);
    if (wanted === null || ![...select.options].some((option) => option.value === wanted)) return;
    select.value = wanted;
    next();
  };
  lost = index < 0 && state.get("cube") || "";
  restoring = true;
  element("find").value = "";
  cubeOptions();
  variable = undefined;
  chooseCube(index < 0 ? Math.max(0, cubes.findIndex((one) => one.opens)) : index);
  choose("variable", chooseVariable);
  choose("x", chooseX);
  choose("color", chooseColor);
  for (const slider of element("sliders").querySelectorAll("input")) slider.value = state.get(`at.${slider.name}`) ?? slider.value;
  document.querySelector(`[name=replicas][value=${state.get("replicas") === "each" ? "each" : "mean"}]`).checked = true;
  for (const id of ["logx", "logy"]) element(id).checked = state.get(id) === "1";
  restoring = false;
  draw();
}

function slice() {
  const place = {};
  for (const slider of element("sliders").querySelectorAll("input")) {
    const index = Number(slider.value), dim = slider.name;
    place[dim] = index;
    slider.previousElementSibling.textContent = index < 0 ? `= ${partner(dim).replaceAll("_", " ")}` : number(values(dim)[index]);
  }
  return place;
}

// The place with the slices that follow another dimension in it.
function resolved(place) {
  for (const dim of Object.keys(place)) if (place[dim] < 0) place[dim] = place[partner(dim)] ?? 0;
  return place;
}

// One point: all replicas at a place, mean and error of those that pass their flags (of all if none does), and how many pass.
function point(place) {
  const count = variable.dims.includes("replica") ? size("replica") : 1, all = [];
  for (let replica = 0; replica < count; replica++) {
    const here = {...place, replica}, value = at(element("variable").value, here);
    const flags = Object.entries(variable.flags).map(([name, least]) => [at(name, here), least]).filter(([flag]) => !Number.isNaN(flag));
    const passed = flags.every(([flag, least]) => flag >= least) ? 1 : 0;
    if (!Number.isNaN(value)) all.push({replica, value, passed: flags.length ? passed : null});
  }
  const sound = all.some((one) => one.passed !== 0) ? all.filter((one) => one.passed !== 0) : all;
  const n = sound.length, mean = sound.reduce((sum, one) => sum + one.value, 0) / n;
  const squares = sound.reduce((sum, one) => sum + (one.value - mean) ** 2, 0);
  const own = variable.error === null ? NaN : at(variable.error, {...place, replica: 0});
  const flagged = all.filter((one) => one.passed !== null);
  return {all, n, mean, error: n > 1 ? Math.sqrt(squares / (n - 1) / n) : own, given: n > 1 ? "standard error" : variable.error,
          flagged: flagged.length, settled: flagged.filter((one) => one.passed > 0).length};
}

function series() {
  const x = element("x").value, color = element("color").value, fixed = slice(), found = [];
  const every = (dim) => dim && variable.dims.includes(dim) ? [...Array(size(dim)).keys()] : [undefined];
  for (const c of every(color)) for (const e of color === "estimator" ? [c] : every("estimator")) {
    const points = every(x).map((i) => {
      const place = resolved({...fixed, [x]: i ?? 0, ...(color ? {[color]: c} : {}), ...(e === undefined ? {} : {estimator: e})});
      return {place, x: cube.coordinates[x] ? values(x)[i ?? 0] : 0, ...point(place)};
    }).filter((one) => one.n);
    if (points.length) found.push({color: c, estimator: e, points});
  }
  return found;
}

// The coordinates of a place, those of a single value too.
const labelled = (place) => variable.dims.filter((dim) => dim !== "replica").map((dim) => [dim, values(dim)[place[dim] ?? 0]]);

function hover(one, replica) {
  const lines = labelled(one.place).map(([dim, value]) => `${symbol(dim).replaceAll("_", " ")} = ${number(value)}`);
  if (replica) lines.push(`replica ${replica.replica}: ${text(replica.value)}`);
  else lines.push(`<b>${text(one.mean)}</b>${Number.isNaN(one.error) ? "" : ` ± ${number(one.error)} (${one.given})`}`,
                  one.n > 1 ? `mean of ${one.n} replicas` : "one value");
  if (one.flagged) lines.push(replica ? (replica.passed > 0 ? "passes its flags" : "fails a flag") : `${one.settled} of ${one.flagged} replicas pass their flags`);
  return lines.join("<br>");
}
const text = (value) => variable.labels ? variable.labels[value] ?? number(value) : number(value);

// Texts have no mean.
const everyReplica = () => variable.labels !== null || document.querySelector("[name=replicas]:checked").value === "each";

function traces(found) {
  const color = element("color").value, each = everyReplica();
  const count = color ? size(color) : 1, made = [];
  const shade = (c) => count <= COLORS.length ? COLORS[c ?? 0] : `hsl(${250 - 250 * c / (count - 1)} 75% 45%)`;
  for (const {color: c, estimator: e, points} of found) {
    const names = [];
    if (color) names.push(`${color === "estimator" ? "" : `${symbol(color)} = `}${number(values(color)[c]).replaceAll("_", " ")}`);
    if (e !== undefined && color !== "estimator") names.push(values("estimator")[e].replaceAll("_", " "));
    const line = !e, group = `${c} ${e}`;
    const flat = each ? points.flatMap((one) => one.all.map((replica) => ({one, replica}))) : points.map((one) => ({one}));
    const hollow = flat.map(({one, replica}) => replica ? replica.passed === 0 : one.flagged > 0 && one.settled < one.flagged / 2);
    const mark = MARKERS[(e ?? 0) % MARKERS.length], single = points.length === 1;
    made.push({
      x: flat.map(({one}) => one.x), y: flat.map(({one, replica}) => replica ? replica.value : one.mean),
      text: flat.map(({one, replica}) => hover(one, replica)), hoverinfo: "text", name: names.join(", ") || " ", legendgroup: group,
      showlegend: names.length > 0, mode: line && !each && !single ? "lines+markers" : "markers", type: "scatter",
      line: {color: shade(c), width: 1.8},
      marker: {opacity: 1, color: hollow.map((open) => open ? "white" : shade(c)), line: {color: shade(c), width: 1.5}, symbol: mark,
               size: flat.map((_, i) => hollow[i] ? 8 : line && !each && !single ? 3 : 7)},
      error_y: each ? {visible: false} : {array: points.map((one) => Number.isNaN(one.error) ? 0 : one.error), color: shade(c), thickness: 1, width: 2},
    });
  }
  return [...made, ...published(shade)];
}

function published(shade) {
  const x = element("x").value, color = element("color").value, fixed = slice();
  const near = (a, b) => a === b || Math.abs(a - b) < 1e-9;
  const there = cube.published.filter((entry) => entry.variable === element("variable").value && x in entry.point &&
    Object.entries(entry.point).every(([dim, value]) => [x, color, "estimator"].includes(dim) || size(dim) === 1 ||
      near(value, fixed[dim] < 0 ? entry.point[partner(dim)] : values(dim)[fixed[dim]])));
  if (!there.length) return [];
  const colors = there.map((entry) => {
    const c = color && color !== "estimator" ? values(color).findIndex((value) => near(value, entry.point[color])) : -1;
    return c < 0 ? "#777" : shade(c);
  });
  // The crosses have the colours of their curves; the entry in the legend has none.
  const entry = {x: [null], y: [null], mode: "markers", type: "scatter", name: "published", legendgroup: "published",
                 marker: {symbol: "x-thin", size: 9, line: {width: 2, color: "#777"}}};
  return [entry, {
    x: there.map((entry) => entry.point[x]), y: there.map((entry) => entry.published), mode: "markers", type: "scatter",
    name: "published", showlegend: false, legendgroup: "published", marker: {symbol: "x-thin", size: 9, line: {width: 2, color: colors}}, hoverinfo: "text",
    text: there.map((entry) => [`<b>published: ${entry.published} ± ${entry.precision}</b>`, entry.quantity, entry.source,
                               wrapped(entry.reason ?? "", 60)].filter(Boolean).join("<br>")),
    error_y: {array: there.map((entry) => entry.precision), color: "#777", thickness: 1, width: 0},
  }];
}

// The legend: one button per curve, which a key or a finger reaches too. It wraps above the picture instead of taking its width.
function key(drawn) {
  const hidden = new Set([...element("key").querySelectorAll("[aria-pressed=false]")].map((button) => button.textContent));
  const entries = drawn.filter((trace) => trace.showlegend !== false && trace.name.trim());
  element("key").replaceChildren(...entries.map((trace) => {
    const button = Object.assign(document.createElement("button"), {type: "button"});
    const color = trace.line?.color ?? trace.marker.line.color, cross = trace.marker.symbol === "x-thin";
    const mark = trace.mode.includes("lines") ? `<path d="M0 6H22" stroke="${color}" stroke-width="2"/>`
      : cross ? `<path d="M7 2l8 8M7 10l8-8" stroke="${color}" stroke-width="2"/>` : {
        circle: `<circle cx="11" cy="6" r="4" fill="${color}"/>`, square: `<path d="M7 2h8v8H7z" fill="${color}"/>`,
        diamond: `<path d="M11 1l5 5-5 5-5-5z" fill="${color}"/>`, "triangle-up": `<path d="M11 1l5 9H6z" fill="${color}"/>`}[trace.marker.symbol];
    button.innerHTML = `<svg width="22" height="12" aria-hidden="true">${mark}</svg>`;
    button.append(trace.name);
    const all = drawn.filter((one) => one.legendgroup === trace.legendgroup);
    const show = (on) => { button.setAttribute("aria-pressed", on); all.forEach((one) => { one.visible = on; }); };
    show(!hidden.has(trace.name));
    button.addEventListener("click", () => {
      show(button.getAttribute("aria-pressed") === "false");
      Plotly.react("plot", drawn, element("plot").layout, CONFIG);
    });
    return button;
  }));
}

function notes(found) {
  const lines = lost ? [`This page has no cube ${lost}; it shows ${cube.family}/${cube.name}.`] : [], points = found.flatMap((one) => one.points);
  for (const [dim, kept] of Object.entries(variable.kept))
    lines.push(`Thinned for display: ${kept.length} of ${cube.coordinates[dim].values.length} values of ${dim}.`);
  const open = points.filter((one) => one.flagged && one.settled < one.flagged).length;
  const names = Object.keys(variable.flags);
  if (names.length && points.length)
    lines.push(`Hollow: fewer than half of the replicas pass their flags (${names.join(", ")}); ` +
               `${open} of ${points.length} points have a replica that fails. A mean holds the replicas that pass, or all where none does.`);
  const counts = points.map((one) => one.n);
  if (points.length && Math.min(...counts) < Math.max(...counts))
    lines.push(`The points hold ${Math.min(...counts)} to ${Math.max(...counts)} replicas: a mean jumps where a replica ends.`);
  if (element("logy").checked) lines.push(`${points.filter((one) => !(one.mean > 0)).length} points ≤ 0 are not on the logarithmic axis.`);
  if (!points.length) lines.push("This variable has no value here. Choose another slice or another variable.");
  element("notes").textContent = lines.join(" ");
}

function describe() {
  element("title").textContent = cube.title;
  element("name").textContent = `${cube.family} / ${cube.name}`;
  element("summary").textContent = cube.summary;
  element("source").textContent = cube.source;
  element("spec").textContent = JSON.stringify(cube.spec, null, 1);
  const paragraph = (head, body) => Object.assign(document.createElement("p"), {textContent: body ? `${head}: ${body}` : ""});
  element("meaning").replaceChildren(...[["", ""], ["Meaning", variable.long_name], ["Symbol", variable.symbol],
    ["Normalisation", variable.normalisation], ["Equation", variable.source], ["Estimator", variable.estimator ?? "several"],
    ["Error", variable.error]].filter(([, body]) => body).map(([head, body]) => paragraph(head, body)));
  element("figures").replaceChildren(...cube.figures.flatMap(({title, caption}) => [
    Object.assign(document.createElement("h2"), {textContent: `Figure: ${title}`}),
    Object.assign(document.createElement("p"), {className: "caption", textContent: caption.replaceAll("``", "").replace(/([^\n])\n(?=[^\n])/g, "$1 ")})]));
}

async function draw() {
  await unpack(cube);
  const name = element("variable").value, x = element("x").value;
  shown = series();
  const labels = variable.labels ? {tickvals: variable.labels.map((_, i) => i), ticktext: variable.labels} : {};
  const axis = (log, title) => ({type: log ? "log" : undefined, title: {text: title}, automargin: true, exponentformat: "power", visible: shown.length > 0});
  const layout = {
    xaxis: axis(element("logx").checked, axisTitle(cube.coordinates[x], x)),
    yaxis: {...axis(element("logy").checked, axisTitle(variable, name)), ...labels},
    margin: NARROW.matches ? {l: 55, r: 10, t: 30, b: 50} : {l: 80, r: 20, t: 30, b: 60},
    hovermode: "closest", template: "none", showlegend: false,
    // A finger scrolls the page; a mouse draws the box of a zoom.
    dragmode: TOUCH.matches ? false : "zoom",
    font: {family: "system-ui, sans-serif", size: NARROW.matches ? 12 : 13},
  };
  notes(shown);
  lost = "";
  describe();
  remember();
  const drawn = traces(shown);
  key(drawn);
  await Plotly.react("plot", drawn, layout, CONFIG);
  // Tab goes from the variable to the axis; the buttons of Plotly are for a mouse.
  for (const button of element("plot").querySelectorAll(".modebar-btn")) button.tabIndex = -1;
}
const CONFIG = {displaylogo: false, responsive: true};

// The rows of the picture; lines that begin with # give the meaning, as in `attention-limits export`.
function csv() {
  const name = element("variable").value, each = everyReplica();
  const meaning = [variable.symbol, variable.long_name, variable.normalisation, variable.units].filter(Boolean).join("; ");
  const dims = labelled(shown[0]?.points[0]?.place ?? {}).map(([dim]) => dim);
  const head = each ? [...dims, "replica", name, "passed"] : [...dims, name, `${name}_error`, `${name}_replicas`, "passed"];
  const blank = (value) => value === null || Number.isNaN(value) ? "" : value;
  const rows = shown.flatMap(({points}) => points.flatMap((one) => {
    const place = labelled(one.place).map(([, value]) => value);
    const cell = (value) => variable.labels ? text(value) : value;
    if (each) return one.all.map((it) => [...place, it.replica, cell(it.value), blank(it.passed)]);
    return [[...place, cell(one.mean), blank(one.error), one.n, one.flagged ? one.settled / one.flagged : ""]];
  }));
  const comments = [`# ${cube.family}/${cube.name}`, `# ${name}: ${meaning}`];
  return [...comments, head.join(","), ...rows.map((row) => row.join(","))].join("\n") + "\n";
}

element("csv").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], {type: "text/csv"}));
  link.download = `${cube.name}_${element("variable").value}.csv`;
  link.click();
});
element("svg").addEventListener("click", () =>
  Plotly.downloadImage({data: element("plot").data, layout: {...element("plot").layout, showlegend: true}}, {format: "svg", filename: `${cube.name}_${element("variable").value}`, width: 900, height: 600}));
element("cube").addEventListener("change", () => chooseCube(element("cube").value));
element("variable").addEventListener("change", chooseVariable);
element("x").addEventListener("change", chooseX);
element("color").addEventListener("change", chooseColor);
for (const it of document.querySelectorAll("[name=replicas], #logx, #logy")) it.addEventListener("change", draw);
for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => { if (location.hash !== address) restore(); });

// The cubes by family, those that hold every searched word in their title, name or figures.
function cubeOptions() {
  const words = element("find").value.toLowerCase().split(/\s+/);
  const text = (one) => [one.title, one.family, one.name, ...one.figures.map((figure) => figure.title)].join(" ").toLowerCase();
  const found = cubes.map((one, i) => [one, i]).filter(([one]) => words.every((word) => text(one).includes(word)));
  element("cube").replaceChildren(...[...new Set(found.map(([one]) => one.family))].map((family) => {
    const group = Object.assign(document.createElement("optgroup"), {label: family.replaceAll("_", " ")});
    group.append(...found.filter(([one]) => one.family === family).map(([one, i]) => new Option(one.title, i)));
    return group;
  }));
  return found.map(([, i]) => i);
}
element("find").addEventListener("input", () => {
  const found = cubeOptions(), now = cubes.indexOf(cube);
  if (found.includes(now)) element("cube").value = now;
  else if (found.length) chooseCube(found[0]);
});
restore();
