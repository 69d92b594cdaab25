"""What a feature level accepts for one operator: values, words and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from ..enums.naming import short_name


@dataclass(frozen=True)
class TensorSupport:
    """What a feature level accepts for one tensor of an operator.

    sizes: the reference's symbolic sizes if given, ("[BatchCount]", "M", "K"); bracketed ones are optional. array: the
    field holds several such tensors.
    """

    dimension_counts: range
    data_types: frozenset[DML_TENSOR_DATA_TYPE]
    kind: str
    optional: bool = False
    sizes: tuple[str, ...] | None = None
    array: bool = False
    choice: str = field(default="", compare=False)

    @property
    def kind_in_words(self) -> str:
        """The tensor's kind as text: "optional input array"."""
        return f"{'optional ' if self.optional else ''}{self.kind}{' array' if self.array else ''}"

    @property
    def counts_in_words(self) -> str:
        """The accepted dimension counts as text: "1 to 8"."""
        counts = self.dimension_counts
        return f"{counts.start} to {counts.stop - 1}" if len(counts) > 1 else f"{counts.start}"

    @property
    def data_types_in_words(self) -> str:
        """The accepted data types as text: "FLOAT32, FLOAT16"."""
        return ", ".join(short_name(data_type) for data_type in sorted(self.data_types))

    @property
    def is_image(self) -> bool:
        """Whether the sizes are those of images: NCHW if there are four."""
        ends = ("BatchCount", "ChannelCount", "Depth", "Height", "Width")
        return (
            self.sizes is not None
            and all(size.strip("[]").endswith(end) for size, end in zip(self.sizes, ends, strict=False))
            and len(self.sizes) == len(ends)
        )

    @property
    def sizes_in_words(self) -> str:
        """The tensor's sizes as text: "{ [BatchCount], M, K }"; empty if the reference gives none."""
        return f"{{ {', '.join(self.sizes)} }}" if self.sizes else ""


class OperatorSupport(Mapping[str, TensorSupport]):
    """What a feature level accepts for each tensor of an operator, by the tensor's name.

    function: the REDUCE function; None for all of them, and for other operators.
    """

    def __init__(
        self,
        operator: DML_OPERATOR_TYPE,
        level: DML_FEATURE_LEVEL,
        function: DML_REDUCE_FUNCTION | None,
        tensors: Mapping[str, TensorSupport],
    ) -> None:
        self.operator = operator
        self.level = level
        self.function = function
        self._tensors = dict(tensors)

    def __getitem__(self, name: str) -> TensorSupport:
        return self._tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    @property
    def title(self) -> str:
        """The operator and level as text: "REDUCE (ARGMAX) at feature level 3_0"."""
        of = f" ({short_name(self.function)})" if self.function is not None else ""
        return f"{short_name(self.operator)}{of} at feature level {short_name(self.level)}"

    def columns(self) -> list[str]:
        """Column titles of the table."""
        sizes = ["sizes ([X] may be left out)"] if any(tensor.sizes for tensor in self.values()) else []
        choices = ["chosen here, since"] if any(tensor.choice for tensor in self.values()) else []
        return ["tensor", "kind", "dimensions", "data types", *sizes, *choices]

    def rows(self) -> list[list[str]]:
        """Rows of the table, one per tensor."""
        has_sizes = any(tensor.sizes for tensor in self.values())
        has_choices = any(tensor.choice for tensor in self.values())
        return [
            [
                name,
                tensor.kind_in_words,
                tensor.counts_in_words,
                tensor.data_types_in_words,
                *([tensor.sizes_in_words] if has_sizes else []),
                *([tensor.choice] if has_choices else []),
            ]
            for name, tensor in self.items()
        ]

    def __repr__(self) -> str:
        tensors = "; ".join(": ".join((row[0], ", ".join(row[1:4]))) for row in self.rows())
        return f"<{self.title}: {tensors}>"

    def _repr_html_(self) -> str:
        from ..words import html_table

        return html_table(self.title, self.columns(), self.rows())


__all__ = ["OperatorSupport", "TensorSupport"]
