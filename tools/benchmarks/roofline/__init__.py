"""``tools/bench --roofline``: operators that fill a device, each as a fraction of what bounds it on that device."""
