"""``tools/bench --roofline``: operators that fill a device, each as a fraction of the device's limit for it."""
