// Every failure in full, with the command that runs it again.

function drawFailures() {
  const found = data.failures.filter(failureMatches);
  const list = make("div");
  const more = make("p");
  const total = data.failures.length;
  const kinds = new Map();
  for (const one of found) kinds.set(one.kind, (kinds.get(one.kind) ?? 0) + 1);
  const counted = kinds.size > 1 ? ` By kind: ${[...kinds].map(([kind, count]) => `${kind} ${grouped(count)}`).join(", ")}.` : "";
  const words = total === 0 ? "Nothing failed." : found.length === total ? `${grouped(total)} in all.` : `${grouped(found.length)} of ${grouped(total)} match the filters.`;
  byId("failures-shown").replaceChildren(make("p", {"aria-live": "polite"}, words + counted), list, more);
  paged(found, 50, more, (shown) => list.replaceChildren(...shown.map((one, at) => failureCard(one, at === 0))));
}

function failureCard(outcome, open) {
  const failure = outcome.failure ?? {message: outcome.reason};
  const card = make("details.card", {open, "data-case": outcome.case},
    make("summary", {}, statusText("failed"), " ", make("span.quiet", {}, outcome.kind), " ", make("code", {}, breakable(outcome.case)), " ",
      make("span.badge", {title: runName(outcome.run)}, String(data.runs[outcome.run].number))));
  // Only opened entries are built: a broken driver has thousands of failures.
  const build = () => {
    if (card.open && card.children.length === 1) card.append(...failureFacts(outcome, failure));
  };
  card.addEventListener("toggle", build);
  build();
  return card;
}

function failureFacts(outcome, failure) {
  const run = data.runs[outcome.run];
  const differing = failure.differing ? `${grouped(failure.differing)} of ${grouped(failure.of)} elements` : "";
  const ulp = failure.ulp === null || failure.ulp === undefined ? "" : `${ulpText(failure.ulp)} ulp, allowed ${ulpText(failure.allowed_ulp)}`;
  const index = failure.index ? `${failure.tensor ?? ""}[${failure.index.join(", ")}]` : failure.tensor;
  const code = (text) => (text === null || text === undefined ? "" : make("code", {}, breakable(text)));
  const smallest = failure.smallest && make("span", {}, code(failure.smallest.case), make("div.quiet", {}, failure.smallest.message));
  const parts = [
    make("p.message", {}, failure.message ?? outcome.reason ?? ""),
    facts([
      ["Device", `${run.device} (${run.axis})`],
      ["Driver", run.driver],
      ["Reason", failure.message && outcome.reason !== failure.message ? outcome.reason : null],
      ["Where", index ? code(index) : ""],
      ["Found", code(failure.found)],
      ["Expected", code(failure.expected)],
      ["Error", ulp],
      ["Differing", differing],
      ["Kernels", failure.kernels?.length ? make("span", {}, failure.kernels.map((kernel) => make("div", {}, code(kernel)))) : ""],
      ["Smallest", smallest],
    ]),
  ];
  if (failure.command) parts.push(make("h3", {}, "Run it again"), copyable(failure.command, "the command"));
  if (failure.smallest?.command) parts.push(make("h3", {}, "Run the smallest again"), copyable(failure.smallest.command, "the smallest case's command"));
  if (failure.descriptor) {
    const text = JSON.stringify(failure.descriptor, null, 2);
    parts.push(make("details", {}, make("summary", {}, "Its description as DxDispatch JSON"), copyable(text, "the description")));
  }
  return parts;
}
