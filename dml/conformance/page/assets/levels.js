// What each feature level accepts per operator; a row opens to its tensors.

const openedLevels = new Set();

function drawLevels() {
  const type = data.level_types.indexOf(filter.type);
  const head = make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "Operator"),
    data.levels.map((level) => make("th", {scope: "col"}, level))));
  const body = make("tbody");
  let family = null;
  for (const one of data.support) {
    const takes = (step) => step.tensors.some((tensor) => tensor[3].includes(type));
    if (!operatorMatches(one.operator, one.family) || (type >= 0 && !one.steps.some(takes))) continue;
    if (one.family !== family) body.append(make("tr.family", {}, make("th", {colspan: data.levels.length + 1, scope: "rowgroup"}, one.family)));
    family = one.family;
    const name = one.function ? `${one.operator} (${one.function})` : one.operator;
    const key = `level ${name}`;
    body.append(make("tr", {"data-operator": name}, make("th", {scope: "row"}, opener(name, openedLevels, key, drawLevels)), levelCells(one, type)));
    if (openedLevels.has(key)) body.append(make("tr.details", {}, make("td", {colspan: data.levels.length + 1}, make("div.inside", {}, stepsTable(one)))));
  }
  if (!body.children.length) body.append(make("tr", {}, make("td", {colspan: data.levels.length + 1}, "Nothing matches the filters.")));
  byId("level-table").replaceChildren(head, body);
}

function levelCells(one, type) {
  return data.levels.map((level, at) => {
    const step = one.steps.findLast((found) => found.from <= at);
    if (!step) return make("td.quiet", {}, make("span", {"aria-hidden": "true"}, "·"), make("span.hidden-text", {}, "not available"));
    const types = new Set(step.tensors.flatMap((tensor) => tensor[3]));
    const shown = type < 0 ? String(types.size) : types.has(type) ? "✓" : "–";
    return make(step.from === at ? "td.changed" : "td", {title: step.from === at ? `changed at ${level}` : ""}, shown);
  });
}

function stepsTable(one) {
  const rows = one.steps.flatMap((step) => step.tensors.map(([name, kind, [lowest, highest], types], at) => make("tr", {},
    at ? null : make("th", {scope: "rowgroup", rowspan: step.tensors.length}, data.levels[step.from]),
    make("td", {}, name, make("div.quiet", {}, kind)),
    make("td", {}, lowest === highest ? String(lowest) : `${lowest} to ${highest}`),
    make("td", {}, types.map((type) => data.level_types[type]).join(", ")))));
  const titles = ["Since level", "Tensor", "Dimensions", "Data types"];
  return make("table", {}, make("thead", {}, make("tr", {}, titles.map((title) => make("th", {scope: "col"}, title)))), make("tbody", {}, rows));
}
