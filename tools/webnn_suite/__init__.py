"""Runs the web platform tests of WebNN in Node.js against ``dml.frontends.webnn``: see tools/webnn."""
