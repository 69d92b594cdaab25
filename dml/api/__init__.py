"""DirectML's API objects (device, operators, bindings, command recorder), and shortcuts that need none of them."""
