"""The objects of DirectML's API: device, operators, bindings, command recorder; and what short ways lead past them."""
