// The filters, which apply to every table below them.

const filter = {name: "", family: "", type: "", status: "", run: ""};

function readFilters() {
  for (const [name, value] of new FormData(byId("filters"))) filter[name] = value.trim();
  filter.name = filter.name.toUpperCase();
}

function operatorMatches(name, family) {
  return name.includes(filter.name.replaceAll(" ", "_")) && (!filter.family || filter.family === family);
}

function shownRuns() {
  return data.runs.map((_, at) => at).filter((at) => filter.run === "" || Number(filter.run) === at);
}

function cellMatches(cell) {
  const [name, family] = data.operators[cell.operator];
  return operatorMatches(name, family)
    && (!filter.type || data.data_types[cell.type] === filter.type)
    && (filter.run === "" || cell.run === Number(filter.run))
    && (!filter.status || cell.counts[STATUSES.indexOf(filter.status)] > 0);
}

function failureMatches(failure) {
  const family = data.operators.find(([name]) => name === failure.operator)?.[1];
  return operatorMatches(failure.operator, family)
    && (!filter.type || failure.data_type === filter.type)
    && (filter.run === "" || failure.run === Number(filter.run))
    && (!filter.status || filter.status === "failed");
}
