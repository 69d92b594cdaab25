// The contents as tables, for reading, sorting by time and screen readers; and the search.

function fillTable(place, more, titles, items, row, first) {
  const head = titles.map(([title, kind]) => make(`th${kind ?? ""}`, {scope: "col"}, title));
  const body = make("tbody");
  byId(place).replaceChildren(make("thead", {}, make("tr", {}, head)), body);
  const draw = (count) => {
    body.replaceChildren(...items.slice(0, count).map(row));
    const rest = items.length - count;
    const button = make("button", {type: "button", click: () => draw(count + 200)}, `Show ${grouped(Math.min(rest, 200))} more of ${grouped(rest)}`);
    byId(more).replaceChildren(...(rest > 0 ? [button] : []));
  };
  draw(first);
}

function drawLists() {
  const kernels = [...data.kernels.keys()].filter((at) => !data.kernels[at].once);
  if (totalTime) kernels.sort((a, b) => data.kernels[b].nanoseconds - data.kernels[a].nanoseconds);
  byId("kernel-note").textContent = totalTime ? "The slowest first." : "In the order in which they run; dml explain --profile adds times.";
  const titles = [["Kernel"], ["Nodes"], ["Reads", ".number"], ["Weights", ".number"], ["Writes", ".number"]];
  if (totalTime) titles.splice(2, 0, ["Time", ".number"], ["Share"]);
  fillTable("kernel-list", "kernel-more", titles, kernels, (at) => kernelRow(data.kernels[at]), 25);
  const nodes = [...data.nodes.keys()].filter((at) => data.nodes[at].kind === "node");
  const columns = [["Node"], ["Became"], ["DirectML"], ["Outputs"], ["Kernels", ".number"]];
  fillTable("node-list", "node-more", columns, nodes, nodeRow, 25);
}

function kernelRow(kernel) {
  const share = make("td.bar-cell", {}, percentOf(kernel.nanoseconds ?? 0),
    make("div.share", {"aria-hidden": "true"}, make("span", {style: {width: `${(100 * (kernel.nanoseconds ?? 0)) / (totalTime || 1)}%`}})));
  return make("tr", {},
    make("th", {scope: "row"}, make("code", {}, breakable(kernel.kernel))),
    make("td", {}, kernel.nodes.map((at) => make("div", {}, nodeLink(at)))),
    totalTime ? make("td.number", {}, milliseconds(kernel.nanoseconds)) : null,
    totalTime ? share : null,
    make("td.number", {}, bytes(kernel.read)),
    make("td.number", {}, kernel.weights ? bytes(kernel.weights) : ""),
    make("td.number", {}, bytes(kernel.written)));
}

function nodeRow(at) {
  const node = data.nodes[at];
  return make("tr", {},
    make("th", {scope: "row"}, nodeLink(at)),
    make("td", {}, node.fate),
    make("td", {}, node.operators.flatMap((name) => [...breakable(name), " "])),
    make("td", {}, node.outputs.map((value) => make("div", {}, `${shapeText(value)} ${value.data_type}`))),
    make("td.number", {}, String(node.kernels.length)));
}

let matches = [];
let shownMatch = -1;

function search() {
  const text = byId("query").value.trim().toLowerCase();
  const has = (words) => words.some((word) => word.toLowerCase().includes(text));
  const words = (node) => [node.operator, node.name, ...node.operators, ...node.inputs.map((value) => value.name),
    ...node.outputs.map((value) => value.name), ...node.kernels.map((at) => data.kernels[at].kernel)];
  matches = text ? [...data.nodes.keys()].filter((at) => has(words(data.nodes[at]))) : [];
  shownMatch = -1;
  const found = new Set(matches);
  nodeElements.forEach((element, at) => element.classList.toggle("matches", found.has(at)));
  byId("found").textContent = text ? `${grouped(matches.length)} found` : "";
}

function nextMatch(event) {
  event.preventDefault();
  if (!matches.length) return;
  shownMatch = (shownMatch + 1) % matches.length;
  choose(matches[shownMatch]);
  byId("found").textContent = `${grouped(shownMatch + 1)} of ${grouped(matches.length)}`;
}
