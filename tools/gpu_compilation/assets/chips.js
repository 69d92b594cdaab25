// Chips by kernels: each cell shows one of the figures, its title has all of them.

const SHOWN = 300;
const SPILLS = data.columns.indexOf("spills");

const spills = (row) => Boolean(row && row[SPILLS]);

function option(text) {
  return make("option", {"value": text}, text);
}

byId("column").append(...data.columns.map(option));
byId("column").value = "spills";
byId("vendor").append(...Array.from(new Set(data.chips.map((chip) => chip.vendor)), option));

function fillChips() {
  const vendor = byId("vendor").value;
  const chips = data.chips.filter((chip) => !vendor || chip.vendor === vendor);
  byId("chip").replaceChildren(make("option", {"value": ""}, "all"), ...chips.map((chip) => option(chip.chip)));
}

function cell(row, column) {
  if (!row) return make("td");
  const title = data.columns.map((name, at) => `${name} ${grouped(row[at])}`).join(", ");
  return make(spills(row) ? "td.number.spills" : "td.number", {"title": title}, grouped(row[column]));
}

function show() {
  const query = byId("query").value.toLowerCase(), vendor = byId("vendor").value, only = byId("spilling").checked;
  const chips = data.chips.filter((c) => (!vendor || c.vendor === vendor) && (!byId("chip").value || c.chip === byId("chip").value));
  const column = data.columns.indexOf(byId("column").value);
  const found = [];
  data.kernels.forEach((name, at) => {
    const rows = chips.map((chip) => chip.rows[at]);
    if (!rows.some(Boolean) || !name.toLowerCase().includes(query)) return;
    if (only && !rows.some(spills)) return;
    const worst = Math.max(...rows.map((row) => (row ? row[column] : 0)));
    found.push({"name": name, "rows": rows, "spilling": rows.filter(spills).length, "worst": worst});
  });
  found.sort((a, b) => b.spilling - a.spilling || b.worst - a.worst);
  const spilling = found.filter((kernel) => kernel.spilling).length;
  const cut = found.length > SHOWN ? `, the first ${SHOWN} are shown` : "";
  byId("found").textContent = `${grouped(found.length)} kernels on ${chips.length} chips, ${spilling} spill${cut}`;
  byId("table").replaceChildren(
    make("thead", {}, make("tr", {}, make("th", {"scope": "col"}, "kernel"),
      chips.map((chip) => make("th.number", {"scope": "col", "title": `${chip.vendor}, Mesa ${chip.mesa}`}, chip.chip)))),
    make("tbody", {}, found.slice(0, SHOWN).map((kernel) =>
      make("tr", {}, make("th", {"scope": "row"}, breakable(kernel.name)), kernel.rows.map((row) => cell(row, column))))),
  );
}

byId("vendor").addEventListener("change", fillChips);
byId("filters").addEventListener("input", show);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
fillChips();
show();
