// The drawing: boxes, lines and shapes, made once.

const nodeElements = [];
const edgeElements = [];

function drawScene() {
  const lines = makeSVG("g"), shapes = makeSVG("g"), boxes = makeSVG("g");
  const named = new Set();
  for (const edge of data.edges) {
    const from = data.nodes[edge.from], to = data.nodes[edge.to];
    const value = from.outputs.find((one) => one.name === edge.value) ?? to.inputs.find((one) => one.name === edge.value);
    const inside = from.group !== null && from.group === to.group;
    const kind = `path.edge${inside ? ".inside" : ""}${value?.known ? ".known" : ""}`;
    const line = makeSVG(kind, {d: curve(edge.points)}, makeSVG("title", {}, `${edge.value}${value ? `: ${valueText(value)}` : ""}`));
    if (inside) line.style.stroke = `hsl(${hue(from.group)} 55% var(--hue-edge))`;
    lines.append(line);
    edgeElements.push(line);
    const key = `${edge.from} ${edge.value}`;
    if (value && !named.has(key)) {
      const [x, y] = edge.points[0];
      const shift = 12 * [...named].filter((one) => one.startsWith(`${edge.from} `)).length;
      shapes.append(makeSVG("text.shape", {x: x + 5, y: y + 13 + shift}, shapeText(value)));
      named.add(key);
    }
  }
  const slowest = Math.max(0, ...data.nodes.map((node) => node.nanoseconds ?? 0));
  data.nodes.forEach((node, at) => boxes.append((nodeElements[at] = box(node, at, slowest))));
  byId("scene").append(lines, shapes, boxes);
}

function box(node, at, slowest) {
  const {x, y, width, height} = node;
  const round = node.kind === "node" ? 6 : height / 2;
  const body = makeSVG("rect.body", {width, height, rx: round});
  if (node.group !== null && node.fate !== "host") {
    body.style.fill = `hsl(${hue(node.group)} 65% var(--hue-light))`;
    body.style.stroke = `hsl(${hue(node.group)} 55% var(--hue-edge))`;
  }
  const texts = node.lines.map((line, number) => {
    const time = node.nanoseconds !== null && number === node.lines.length - 1;
    return makeSVG(number === 0 ? "text.title" : time ? "text.time" : "text.second", {x: width / 2, y: 19 + 17 * number}, line);
  });
  const heat = node.nanoseconds === null ? null
    : makeSVG("rect.heat", {x: 4, y: height - 5, height: 3, rx: 1.5, width: Math.max(1, (width - 8) * (node.nanoseconds / slowest))});
  const group = makeSVG(`g.node.${node.fate}`, {
    transform: `translate(${x} ${y})`, tabindex: 0, role: "button", "aria-label": `${nodeTitle(node)}; ${FATES[node.fate]}`, "data-node": at,
  }, body, heat, texts);
  group.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(at);
    }
  });
  return group;
}

// A line through the points: straight where it passes a layer, curved between layers.
function curve(points) {
  let path = `M${points[0].join(" ")}`;
  for (let at = 1; at < points.length; at += 1) {
    const [x0, y0] = points[at - 1], [x1, y1] = points[at];
    const middle = (y0 + y1) / 2;
    path += Math.abs(x0 - x1) < 0.5 ? `L${x1} ${y1}` : `C${x0} ${middle} ${x1} ${middle} ${x1} ${y1}`;
  }
  return path;
}
