"""Activations: functions of one element, softmax and hardmax along axes."""
