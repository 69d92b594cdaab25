// The five statuses of a case, as symbols that are clear without colour, and elements that several parts of the page
// draw.

const STATUSES = ["passed", "failed", "loose", "not_tested", "unsupported"];
const SIGNS = {passed: "✓", failed: "✗", loose: "≈", not_tested: "–", unsupported: "○"};
const WORDS = {passed: "passed", failed: "failed", loose: "loose", not_tested: "not tested", unsupported: "unsupported"};

function statusText(status, count) {
  const sign = make("span", {"aria-hidden": "true"}, `${SIGNS[status]} `);
  const word = make("span.hidden-text", {}, ` ${WORDS[status]}`);
  return make(`span.status.${status}`, {}, sign, count === undefined ? WORDS[status] : grouped(count), count === undefined ? null : word);
}

function addUp(cells) {
  const counts = STATUSES.map(() => 0);
  for (const cell of cells) cell.counts.forEach((count, at) => (counts[at] += count));
  return counts;
}

function addHistograms(cells) {
  const bins = [0, 0, 0, 0, 0, 0];
  for (const cell of cells) cell.histogram.forEach((count, at) => (bins[at] += count));
  return bins;
}

// Non-finite shares arrive as text, and are worse than any number.
function weight(share) {
  return typeof share === "number" ? share : Infinity;
}

function worstOf(cells) {
  let worst = null;
  for (const cell of cells) if (cell.worst && (!worst || weight(cell.worst.share) > weight(worst.share))) worst = cell.worst;
  return worst;
}

function percent(share) {
  if (typeof share !== "number") return share;
  if (share >= 1e5) return `${share.toExponential(2)} times`;
  if (share >= 10) return `${Number(share.toPrecision(3)).toLocaleString("en-US")} times`;
  return share > 0 && share < 0.001 ? "< 0.1 %" : `${Number((100 * share).toPrecision(3)).toLocaleString("en-US")} %`;
}

// A thin bar: the share of the allowed error that was used.
function usedBar(share) {
  const kind = weight(share) > 1 ? ".over" : weight(share) > 0.75 ? ".near" : "";
  const width = `${100 * Math.min(1, weight(share))}%`;
  return make(`div.used${kind}`, {"aria-hidden": "true"}, make("span", {style: {width}}));
}

function runName(run) {
  const {number, device, axis} = data.runs[run];
  return `${number} ${device} (${axis})`;
}

// The report that a run belongs to, if there are several.
function inReport(run) {
  return data.changes.length ? `${String.fromCharCode(65 + data.runs[run].report)} ` : "";
}

// Units in the last place; numbers beyond float32's precision are shown as "entirely different".
function ulpText(ulp) {
  return ulp < 2 ** 24 ? short(ulp) : "over 2^24";
}

// A limit that is not in ulp, or that allows more ulp than float32's precision, counts as absolute.
function limitOf(tensor) {
  return tensor.ulp_limit > 0 && tensor.ulp_limit < 2 ** 24 ? short(tensor.ulp_limit) : "absolute";
}

// A row's button that opens a row of details below it.
function opener(text, opened, key, render) {
  const button = make("button.plain.opens", {"type": "button", "aria-expanded": String(opened.has(key))}, make("span", {}, breakable(text)));
  button.addEventListener("click", () => {
    if (!opened.delete(key)) opened.add(key);
    render();
    document.querySelector(`[data-opener="${CSS.escape(key)}"]`)?.focus({preventScroll: true});
  });
  button.dataset.opener = key;
  return button;
}

// The first `count` elements, and a button for more of them.
function paged(items, shown, place, draw) {
  const rest = items.length - shown;
  draw(items.slice(0, shown));
  place.replaceChildren();
  if (rest > 0) {
    const button = make("button", {type: "button"}, `Show ${grouped(Math.min(rest, 100))} more of ${grouped(rest)}`);
    button.addEventListener("click", () => paged(items, shown + 100, place, draw));
    place.append(button);
  }
}
