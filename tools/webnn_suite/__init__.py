"""The web platform tests of WebNN, run in node with ``dml.frontends.webnn`` behind their WebNN: see tools/webnn."""
