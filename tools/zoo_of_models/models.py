"""All models. Imports PyTorch, which most are made with; ModuleNotFoundError where there is none."""

from tools.zoo_of_models import classifiers  # noqa: F401  each lists its models in ENTRIES
from tools.zoo_of_models import classifiers_newer  # noqa: F401
from tools.zoo_of_models import images  # noqa: F401
from tools.zoo_of_models import detectors  # noqa: F401
from tools.zoo_of_models import other_inputs  # noqa: F401
from tools.zoo_of_models import recurrent  # noqa: F401
from tools.zoo_of_models import language  # noqa: F401
from tools.zoo_of_models import transformers_others  # noqa: F401
from tools.zoo_of_models import scikit  # noqa: F401
from tools.zoo_of_models import quantized  # noqa: F401
from tools.zoo_of_models.entry import ENTRIES, Entry

__all__ = ["ENTRIES", "Entry"]
