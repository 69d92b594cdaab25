// Moving and zooming: a mouse, two fingers, keys, buttons.

const camera = {x: 0, y: 0, scale: 1};
const CLOSEST = 3;

function stageSize() {
  const {width, height} = byId("drawing").getBoundingClientRect();
  return {width, height};
}

function sceneSize() {
  const right = Math.max(1, ...data.nodes.map((node) => node.x + node.width));
  const bottom = Math.max(1, ...data.nodes.map((node) => node.y + node.height));
  return {width: right, height: bottom};
}

function show() {
  byId("scene").setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.scale})`);
  byId("scene").classList.toggle("far", camera.scale < 0.5);
}

function farthest() {
  const stage = stageSize(), scene = sceneSize();
  return Math.min(1, (stage.width - 40) / scene.width, (stage.height - 40) / scene.height);
}

function zoom(factor, x, y) {
  const stage = stageSize();
  x ??= stage.width / 2;
  y ??= stage.height / 2;
  const scale = Math.min(CLOSEST, Math.max(Math.min(0.05, farthest()), camera.scale * factor));
  camera.x = x - ((x - camera.x) * scale) / camera.scale;
  camera.y = y - ((y - camera.y) * scale) / camera.scale;
  camera.scale = scale;
  show();
}

function fitWhole() {
  const stage = stageSize(), scene = sceneSize();
  camera.scale = farthest();
  camera.x = (stage.width - scene.width * camera.scale) / 2;
  camera.y = (stage.height - scene.height * camera.scale) / 2;
  show();
}

// The initial view: all of a small model, or the top of a larger one at a readable size.
function fitTop() {
  const stage = stageSize(), scene = sceneSize();
  fitWhole();
  if (camera.scale < 0.6) {
    const first = data.nodes.reduce((best, node) => (node.y < best.y ? node : best), data.nodes[0]);
    camera.scale = Math.max(0.6, Math.min(0.9, (stage.width - 40) / scene.width));
    camera.x = Math.max(stage.width - 20 - scene.width * camera.scale, Math.min(20, stage.width / 2 - (first.x + first.width / 2) * camera.scale));
    if (scene.width * camera.scale < stage.width) camera.x = (stage.width - scene.width * camera.scale) / 2;
    camera.y = 50;
    show();
  }
}

function bringIntoSight(node) {
  const stage = stageSize();
  camera.scale = Math.max(camera.scale, 0.8);
  camera.x = stage.width / 2 - (node.x + node.width / 2) * camera.scale;
  camera.y = stage.height / 2 - (node.y + node.height / 2) * camera.scale;
  show();
}

function listenToPointers(drawing) {
  const fingers = new Map();
  let moved = 0;
  let pressed = null;
  drawing.addEventListener("pointerdown", (event) => {
    if (!fingers.size) {
      moved = 0;
      pressed = event.target.closest(".node");
    }
    fingers.set(event.pointerId, event);
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const other = [...fingers.values()].find((one) => one.pointerId !== event.pointerId);
    fingers.set(event.pointerId, event);
    moved += Math.hypot(event.clientX - before.clientX, event.clientY - before.clientY);
    if (other) {
      const corner = drawing.getBoundingClientRect();
      const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      zoom(apart(event) / apart(before), (event.clientX + other.clientX) / 2 - corner.left, (event.clientY + other.clientY) / 2 - corner.top);
    }
    camera.x += (event.clientX - before.clientX) / fingers.size;
    camera.y += (event.clientY - before.clientY) / fingers.size;
    drawing.classList.add("moving");
    show();
  });
  const lift = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    drawing.classList.remove("moving");
    if (event.type === "pointerup" && moved < 6 && !fingers.size) choose(pressed ? Number(pressed.dataset.node) : null, false);
  };
  drawing.addEventListener("pointerup", lift);
  drawing.addEventListener("pointercancel", lift);
  drawing.addEventListener("wheel", (event) => {
    event.preventDefault();
    const corner = drawing.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - corner.left, event.clientY - corner.top);
  }, {passive: false});
  drawing.addEventListener("keydown", (event) => {
    const steps = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]};
    if (steps[event.key]) {
      camera.x += steps[event.key][0];
      camera.y += steps[event.key][1];
      show();
    } else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fitWhole();
    else if (event.key === "Escape") choose(null);
    else return;
    event.preventDefault();
  });
}
