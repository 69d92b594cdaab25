// The details of the selected node.

let chosen = null;

function choose(at, move = true) {
  chosen = at;
  nodeElements.forEach((element, number) => element.classList.toggle("chosen", number === at));
  edgeElements.forEach((element, number) => {
    const edge = data.edges[number];
    element.classList.toggle("near", at !== null && (edge.from === at || edge.to === at));
  });
  byId("details").replaceChildren(...(at === null ? [] : details(data.nodes[at], at)));
  byId("about").hidden = at !== null;
  byId("panel").scrollTop = 0;
  if (at !== null && move) bringIntoSight(data.nodes[at]);
}

function nodeLink(at) {
  const button = make("button.plain", {type: "button", "data-goes-to": at}, breakable(nodeTitle(data.nodes[at])));
  button.addEventListener("click", () => {
    choose(at);
    byId("drawing").scrollIntoView({block: "nearest"});
  });
  return button;
}

function details(node, at) {
  const members = node.group === null ? [] : data.nodes.flatMap((other, number) => (other.group === node.group && number !== at ? [number] : []));
  const close = make("button", {type: "button", click: () => choose(null)}, "Close");
  const parts = [
    make("h2", {}, node.kind === "node" ? node.operator : node.kind),
    facts([
      ["Name", node.name],
      ["Became", FATES[node.fate]],
      ["DirectML", node.operators.join(", ")],
      ["Feature level", node.level],
      ["Time", node.nanoseconds === null ? "" : `${milliseconds(node.nanoseconds)}, ${percentOf(node.nanoseconds)}${members.length ? " (of the kernels that begin here)" : ""}`],
    ]),
  ];
  if (members.length) parts.push(make("h3", {}, "Fused with"), make("ul", {}, members.map((number) => make("li", {}, nodeLink(number)))));
  parts.push(...valueList("Inputs", node.inputs, at, true), ...valueList("Outputs", node.outputs, at, false));
  if (node.attributes.length) parts.push(make("h3", {}, "Attributes"), facts(node.attributes));
  if (node.inner.length) {
    parts.push(make("details", {}, make("summary", {}, `Its body: ${grouped(node.inner.length)} nodes`),
      make("ul", {}, node.inner.slice(0, 500).map((text) => make("li", {}, text)))));
  }
  if (node.kernels.length) parts.push(make("h3", {}, "Kernels"), ...node.kernels.map((number) => kernelCard(data.kernels[number], at)));
  return [...parts, close];
}

function percentOf(nanoseconds) {
  return totalTime ? `${short((100 * nanoseconds) / totalTime)} %` : "";
}

// Each value, with its source and its readers.
function valueList(title, values, at, comesIn) {
  if (!values.length) return [];
  return [make("h3", {}, title), make("ul", {}, values.map((value) => {
    const others = data.edges.filter((edge) => edge.value === value.name && (comesIn ? edge.to : edge.from) === at);
    const links = others.map((edge) => make("div", {}, comesIn ? "from " : "to ", nodeLink(comesIn ? edge.from : edge.to)));
    return make("li", {}, make("code", {}, breakable(value.name)), make("div", {}, valueText(value)), links.slice(0, 20));
  }))];
}

function kernelCard(kernel, at) {
  const others = kernel.nodes.filter((number) => number !== at);
  return make("div.kernel", {},
    make("code", {}, breakable(kernel.kernel)),
    facts([
      ["Runs", kernel.once ? "once, at initialization" : ""],
      ["Time", kernel.nanoseconds === null ? "" : `${milliseconds(kernel.nanoseconds)}, ${percentOf(kernel.nanoseconds)}`],
      ["Reads", kernel.invocations ? bytes(kernel.read) : ""],
      ["Weights", kernel.weights ? bytes(kernel.weights) : ""],
      ["Writes", bytes(kernel.written)],
      ["Workgroups", kernel.invocations === 0 ? "" : `${kernel.groups.join(" × ")}, each of ${kernel.invocations}`],
      ["Computes also", others.length ? make("span", {}, others.map((number) => make("div", {}, nodeLink(number)))) : ""],
    ]));
}
