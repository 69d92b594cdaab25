// Reports side by side: the cases that got worse, got better, are new, or are gone since the first.

const CHANGES = {worse: "Worse", better: "Better", new: "New", gone: "Gone"};

function drawChanges() {
  const place = byId("changes-shown");
  if (!place) return;
  data.changes.forEach((change, at) => {
    const letter = String.fromCharCode(66 + at);
    const count = (what) => change.cases.filter((one) => one.what === what).length;
    const words = Object.keys(CHANGES).map((what) => `${grouped(count(what))} ${CHANGES[what].toLowerCase()}`).join(", ");
    place.append(make("h3", {}, `Report ${letter}: ${words}`));
    for (const [side, runs] of [["A", change.alone[0]], [letter, change.alone[1]]]) {
      if (runs.length) place.append(make("p.quiet", {}, `In report ${side} alone, beside nothing: ${runs.join("; ")}`));
    }
    for (const [what, title] of Object.entries(CHANGES)) {
      const cases = change.cases.filter((one) => one.what === what);
      if (cases.length) place.append(changeList(title, cases, change.pairs, what === "worse"));
    }
  });
}

function changeList(title, cases, pairs, open) {
  const body = make("tbody");
  const more = make("p");
  const head = ["Case", "Run", "A", "Then"].map((name) => make("th", {scope: "col"}, name));
  const table = make("table", {}, make("thead", {}, make("tr", {}, head)), body);
  paged(cases, 50, more, (shown) => body.replaceChildren(...shown.map((one) => {
    const [before, after] = pairs[one.pair];
    return make("tr", {}, make("td.case", {}, make("code", {}, breakable(one.case))),
      make("td", {}, before === after ? before : `${before} → ${after}`),
      make("td", {}, changeSide(one.before)), make("td", {}, changeSide(one.after)));
  })));
  return make("details.card", {open}, make("summary", {}, `${title}: ${grouped(cases.length)}`),
    make("div.wide", {tabindex: 0, role: "region", "aria-label": title}, table), more);
}

function changeSide(side) {
  if (!side) return make("span.quiet", {}, "not in it");
  const share = side.share === null ? null : make("div.quiet", {}, `${percent(side.share)} of allowed`);
  return make("div", {}, statusText(side.status), share, side.reason ? make("div.quiet", {}, side.reason) : null);
}
