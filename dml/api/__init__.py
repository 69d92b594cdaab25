"""DirectML's API objects: device, operators, bindings, command recorder; and the shortcuts past them."""
