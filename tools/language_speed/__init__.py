"""``tools/bench --language``: speed of language models compared with llama.cpp on the same Vulkan device."""
