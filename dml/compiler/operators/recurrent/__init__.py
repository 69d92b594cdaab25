"""Recurrent networks: GRU, LSTM and RNN."""
