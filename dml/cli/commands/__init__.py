"""One module per command. Imports that take time, or need Vulkan, are inside the command's function."""
