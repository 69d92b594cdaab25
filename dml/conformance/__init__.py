"""The cross-vendor suite: every operator on a device, against NumPy references that share nothing with the compiler.

`families` describes what is tried of each operator, `references` says in NumPy what must come out, and what they are
made of turns that into cases and runs one. Around that: `suite` (which cases), `runner` and `worker` (processes),
`journal` (a killed run goes on), `report` and what is made of one, `command` (`dml conformance`).
"""
