// Draws the picture, and listens.

drawScene();
drawLists();
fitTop();
listenToPointers(byId("drawing"));
byId("closer").addEventListener("click", () => zoom(1.25));
byId("farther").addEventListener("click", () => zoom(0.8));
byId("fit").addEventListener("click", fitWhole);
byId("query").addEventListener("input", search);
byId("search").addEventListener("submit", nextMatch);
// A node that the Tab key reaches comes into sight.
byId("scene").addEventListener("focusin", (event) => {
  if (event.target.matches(":focus-visible")) bringIntoSight(data.nodes[Number(event.target.dataset.node)]);
});
