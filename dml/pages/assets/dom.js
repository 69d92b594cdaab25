"use strict";
// Helpers for every page's scripts: making elements, reading the page's data, copying. Texts only ever become text
// nodes.

const data = JSON.parse(document.getElementById("data").textContent);

function byId(id) {
  return document.getElementById(id);
}

// make("td.number", {title: "..."}, "text", child, ...): attributes by name, handlers as functions ("click": ...).
function make(what, attributes, ...children) {
  return filled(document.createElement(what.split(".")[0]), what, attributes, children);
}

function makeSVG(what, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", what.split(".")[0]), what, attributes, children);
}

function filled(element, what, attributes, children) {
  const classes = what.split(".").slice(1);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A long name that may break behind its separators.
function breakable(text) {
  return String(text).split(/(?<=[_,/:])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));
}

function grouped(number) {
  return number.toLocaleString("en-US");
}

// Format a measured number with few digits; non-finite numbers arrive as text.
function short(number) {
  if (number === null || number === undefined) return "";
  if (typeof number !== "number") return number;
  if (Math.abs(number) >= 1e7) return number.toExponential(2);
  if (Math.abs(number) >= 1000) return grouped(Math.round(number));
  return Number(number.toPrecision(3)).toString();
}

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make("dl.facts", {}, shown.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat());
}

// A button that copies the text of an element; if the browser forbids copying, it selects the text instead.
async function copyText(element, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(element.textContent);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

function copyable(text, what) {
  const shown = make("pre", {}, text);
  const button = make("button", {"type": "button", "aria-label": `Copy ${what}`}, "Copy");
  button.addEventListener("click", () => copyText(shown, button));
  return make("div.copyable", {}, shown, button);
}
