// Values, bytes and times as text.

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  while (count >= 1024 && at < 3) {
    count /= 1024;
    at += 1;
  }
  return `${short(count)} ${units[at]}`;
}

function shapeText(value) {
  return value.shape.length ? value.shape.join(" × ") : "scalar";
}

function valueText(value) {
  return `${shapeText(value)} ${value.data_type}, ${bytes(value.size)}${value.known ? ", known beforehand" : ""}`;
}

function milliseconds(nanoseconds) {
  return `${short(nanoseconds / 1e6)} ms`;
}

function nodeTitle(node) {
  return node.kind === "node" ? (node.name ? `${node.operator} ${node.name}` : node.operator) : `${node.kind} ${node.name}`;
}

const FATES = {
  fused: "fused: computed together with other nodes",
  kernel: "has kernels of its own",
  once: "runs once, at initialization: nothing it reads changes",
  known: "known before the model runs",
  view: "nothing runs: it only looks at what others made, or went into their kernels",
  unplanned: "runs on the device; its kernels depend on a shape that only a run tells",
  host: "runs on the host, not on the device",
  input: "an input of the model",
  output: "an output of the model",
};

// The total time of the kernels that run with the model; 0 if nothing was measured.
const totalTime = data.kernels.reduce((sum, kernel) => sum + (kernel.nanoseconds ?? 0), 0);

// Each group of fused nodes has a hue, neighbours different ones.
function hue(group) {
  return (group * 137.5 + 205) % 360;
}
