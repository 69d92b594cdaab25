"""All models. Importing this raises ModuleNotFoundError without PyTorch, which most models need."""

from tools.zoo_of_models import (  # noqa: F401  each registers its models in ENTRIES
    classifiers,
    classifiers_newer,
    detectors,
    images,
    language,
    other_inputs,
    quantized,
    recurrent,
    scikit,
    transformers_others,
)
from tools.zoo_of_models.entry import ENTRIES, Entry

__all__ = ["ENTRIES", "Entry"]
