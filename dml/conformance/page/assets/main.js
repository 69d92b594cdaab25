// Draws the page, and draws it again as filters change.

function drawShares() {
  for (const place of document.querySelectorAll(".shares")) {
    const counts = addUp(data.cells.filter((cell) => cell.run === Number(place.dataset.run)));
    STATUSES.forEach((status, at) => {
      if (counts[at]) place.append(make(`span.${status}`, {style: {flexGrow: String(counts[at]), minWidth: "2px"}}));
    });
  }
}

function draw() {
  readFilters();
  drawMatrix();
  drawFailures();
  drawErrors();
  drawLevels();
}

// A report of many devices takes a moment to draw, so wait until typing pauses.
let typed = 0;
byId("filters").addEventListener("input", (event) => {
  clearTimeout(typed);
  typed = setTimeout(draw, event.target.name === "name" ? 100 : 0);
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("filters").addEventListener("reset", () => setTimeout(draw));
for (const button of document.querySelectorAll("button.copies")) {
  button.addEventListener("click", () => copyText(button.previousElementSibling, button));
}
drawShares();
drawChanges();
draw();
