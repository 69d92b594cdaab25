"""The cross-vendor suite that people run and send."""
