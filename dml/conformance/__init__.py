"""The cross-vendor suite: every operator on a device, against NumPy references that share no code with the compiler.

`families` describes the cases of each operator, `references` computes the expected results in NumPy. `suite` chooses
cases, `runner` and `worker` run them in processes, `journal` lets a killed run continue, `report` holds the results,
`command` is `dml conformance`.
"""
