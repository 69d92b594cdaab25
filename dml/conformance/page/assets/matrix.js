// Operators by runs; an operator opens to its data types.

const openedOperators = new Set();

function drawMatrix() {
  const runs = shownRuns();
  const byOperator = groupedBy(data.cells.filter(cellMatches), (cell) => cell.operator);
  const head = make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "Operator"), runs.map(runHead)));
  const body = make("tbody");
  let family = null;
  for (const [operator, cells] of byOperator) {
    const [name, its] = data.operators[operator];
    if (its !== family) body.append(make("tr.family", {}, make("th", {colspan: runs.length + 1, scope: "rowgroup"}, its)));
    family = its;
    const title = make("th", {scope: "row"}, opener(name, openedOperators, name, drawMatrix));
    body.append(make("tr", {"data-operator": name}, title, runs.map((run) => matrixCell(cells.filter((cell) => cell.run === run)))));
    if (openedOperators.has(name)) body.append(detailsRow(cells, runs));
  }
  if (!byOperator.size) body.append(make("tr", {}, make("td", {colspan: runs.length + 1}, "Nothing matches the filters.")));
  byId("matrix").replaceChildren(head, body);
  const cases = addUp(data.cells.filter(cellMatches)).reduce((sum, count) => sum + count, 0);
  byId("matched").textContent = `${byOperator.size} operator${byOperator.size === 1 ? "" : "s"}, ${grouped(cases)} case${cases === 1 ? "" : "s"}`;
}

function groupedBy(items, key) {
  const found = new Map();
  for (const item of items) {
    const at = key(item);
    if (!found.has(at)) found.set(at, []);
    found.get(at).push(item);
  }
  return found;
}

function runHead(run) {
  const {number, device, axis} = data.runs[run];
  return make("th", {scope: "col", title: runName(run)},
    make("span.badge", {}, String(number)), ` ${device.split(" ")[0]} `, make("span.axis-name", {}, inReport(run), axis));
}

function matrixCell(cells) {
  if (!cells.length) return make("td.quiet", {}, make("span.hidden-text", {}, "no cases"));
  const [passed, failed, loose, notTested, unsupported] = addUp(cells);
  const worst = worstOf(cells);
  const texts = [];
  if (failed) texts.push(statusText("failed", failed));
  if (loose) texts.push(statusText("loose", loose));
  if (passed) texts.push(statusText("passed", passed));
  if (unsupported) texts.push(statusText("unsupported", unsupported));
  if (notTested) texts.push(statusText("not_tested", notTested));
  texts.slice(1).forEach((text) => text.classList.add("minor"));
  const only = passed || failed || loose ? "" : unsupported >= notTested ? ".all-unsupported" : ".all-not_tested";
  const spaced = texts.flatMap((text, at) => (at ? [" ", text] : [text]));
  const title = worst ? `largest error: ${percent(worst.share)} of what is allowed` : "";
  return make(`td${failed ? ".has-failed" : loose ? ".has-loose" : only}`, {title}, spaced, worst ? usedBar(worst.share) : null);
}

function detailsRow(cells, runs) {
  const rows = cells.map((cell) => {
    const worst = cell.worst;
    return make("tr", {},
      make("th", {scope: "row"}, data.data_types[cell.type]),
      make("td", {}, make("span.badge", {title: runName(cell.run)}, String(data.runs[cell.run].number))),
      make("td", {}, STATUSES.flatMap((status, at) => (cell.counts[at] ? [statusText(status, cell.counts[at]), " "] : []))),
      make("td.number", {"data-label": worst && "worst ulp"}, worst ? ulpText(worst.worst_ulp) : ""),
      make("td.number", {"data-label": worst && "limit"}, worst ? limitOf(worst) : ""),
      make("td.number", {"data-label": worst && "of allowed"}, worst ? percent(worst.share) : ""),
      make("td", {}, spark(cell.histogram)),
      make("td.case", {}, worst ? make("code", {}, breakable(worst.case)) : null, worst ? make("div.quiet", {}, worst.why) : null,
        cell.reasons.map(([status, reason, count]) => make("div", {}, statusText(status, count), ` ${reason}`))));
  });
  const titles = ["Type", "Run", "Cases", "Worst ulp", "Limit", "Of allowed", "Elements by share", "Worst case, reasons"];
  const head = titles.map((title, at) => make(at > 2 && at < 6 ? "th.number" : "th", {scope: "col"}, title));
  const table = make("table.stacks", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  return make("tr.details", {}, make("td", {colspan: runs.length + 1}, make("div.inside", {}, table)));
}

// A word-sized histogram; heights are logarithmic.
function spark(bins) {
  const most = Math.log1p(Math.max(...bins));
  if (!bins.length || !most) return null;
  const bars = bins.map((count, at) => {
    const height = (22 * Math.log1p(count)) / most;
    return makeSVG(at === 5 ? "rect.over" : "rect", {x: 9 * at, y: 22 - height, width: 7, height});
  });
  const label = bins.map((count, at) => `${BINS[at]}: ${grouped(count)}`).join(", ");
  return makeSVG("svg.spark", {width: 54, height: 22, role: "img", "aria-label": label}, makeSVG("title", {}, label), bars);
}
