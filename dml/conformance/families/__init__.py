"""What is tried of each operator: a Subject each, in a module per family. Modules register them when they are imported."""
