// Errors as shares of their limits: histograms per run, and the worst errors.

const BINS = ["exact", "up to 1/8", "up to 1/4", "up to 1/2", "up to the limit", "above it"];

function drawErrors() {
  const cells = data.cells.filter(cellMatches);
  const drawn = shownRuns().map((run) => histogram(run, addHistograms(cells.filter((cell) => cell.run === run))));
  byId("histograms").replaceChildren(...drawn);
  const measured = cells.filter((cell) => cell.worst).sort((a, b) => weight(b.worst.share) - weight(a.worst.share));
  const titles = ["Operator", "Type", "Run", "Worst ulp", "Limit", "Of allowed", "", "Why this limit", "Case"];
  const head = titles.map((title, at) => make(at > 2 && at < 6 ? "th.number" : "th", {scope: "col"}, title || make("span.hidden-text", {}, "share")));
  paged(measured, 20, byId("worst-more"), (shown) => {
    const rows = shown.length ? shown.map(worstRow) : [make("tr", {}, make("td", {colspan: titles.length}, "Nothing was measured."))];
    byId("worst").replaceChildren(make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows));
  });
}

function worstRow(cell) {
  const worst = cell.worst;
  const over = weight(worst.share) > 1 ? ".failed" : "";
  return make("tr", {},
    make("th", {scope: "row"}, data.operators[cell.operator][0]),
    make("td", {}, data.data_types[cell.type]),
    make("td", {}, make("span.badge", {title: runName(cell.run)}, String(data.runs[cell.run].number))),
    make("td.number", {"data-label": "worst ulp"}, ulpText(worst.worst_ulp)),
    make("td.number", {"data-label": "limit"}, limitOf(worst)),
    make(`td.number${over}`, {"data-label": "of allowed"}, percent(worst.share)),
    make("td", {}, usedBar(worst.share)),
    make("td.why", {}, worst.why),
    make("td.case", {}, make("code", {}, breakable(worst.case))));
}

function histogram(run, bins) {
  const total = bins.reduce((sum, count) => sum + count, 0);
  const most = Math.log1p(Math.max(...bins)) || 1;
  const rows = bins.map((count, at) => make("tr", {},
    make("th", {scope: "row"}, BINS[at]),
    make("td.bars", {"aria-hidden": "true"}, count ? make(at === 5 ? "span.over" : "span", {style: {width: `${(100 * Math.log1p(count)) / most}%`}}) : null),
    make("td.number", {}, grouped(count)),
    make("td.number.quiet", {}, total ? percent(count / total) : "")));
  const title = make("caption", {}, make("span.badge", {}, String(data.runs[run].number)), ` ${data.runs[run].device} (${data.runs[run].axis})`);
  return make("div.histogram", {}, make("table", {}, title, make("tbody", {}, rows)));
}
