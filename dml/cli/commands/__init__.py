"""One module per command. At its top a module imports only what is there at once: what takes time to import, or needs
Vulkan, is imported by the command when it runs."""
