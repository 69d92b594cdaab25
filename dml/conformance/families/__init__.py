"""The tested cases of each operator: a Subject each, in a module per family. Importing a module registers them."""
