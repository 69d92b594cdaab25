// Draws the picture and handles events.

drawScene();
drawLists();
fitTop();
listenToPointers(byId("drawing"));
byId("closer").addEventListener("click", () => zoom(1.25));
byId("farther").addEventListener("click", () => zoom(0.8));
byId("fit").addEventListener("click", fitWhole);
byId("query").addEventListener("input", search);
byId("search").addEventListener("submit", nextMatch);
// Scrolls a node into view when the Tab key moves the focus to it.
byId("scene").addEventListener("focusin", (event) => {
  if (event.target.matches(":focus-visible")) bringIntoSight(data.nodes[Number(event.target.dataset.node)]);
});
