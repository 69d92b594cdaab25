"""Language models' speed beside llama.cpp on the same Vulkan device: what tools/bench --language runs."""
