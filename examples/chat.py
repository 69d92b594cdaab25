"""A chat with a language model's folder, in the format of onnxruntime-genai's model builder.

    python examples/chat.py                 # a small folder with random weights, made on the spot
    python examples/chat.py FOLDER          # yours

Except for its import, this is a program for onnxruntime-genai. The folder that it makes has a Llama with 4-bit weights,
genai_config.json, a tokenizer and a chat template; with random weights it talks nonsense.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import dml.frontends.genai as og

LAYERS, WIDTH, HEADS, KEY_HEADS, INNER, CONTEXT, BLOCK = 2, 64, 4, 2, 128, 512, 32
SIZE = WIDTH // HEADS
SPECIAL = ["<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>"]
PAD, BEGIN, END = 0, 1, 2
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TEXTS = ["The quick brown fox jumps over the lazy dog.", "What is a GPU? A GPU is a processor of many lanes."]


class Net:
    """A model under construction: nodes and random weights, with the builder's names."""

    def __init__(self, vocabulary: int) -> None:
        self.rng = np.random.default_rng(7)
        self.vocabulary = vocabulary
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def held(self, name: str, array: npt.NDArray[Any]) -> str:
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: Sequence[str], *outputs: str, **attributes: Any) -> str:
        """Add a node, of com.microsoft if that domain has the operator; return the name of its first output."""
        own = ("MatMulNBits", "GroupQueryAttention", "SkipSimplifiedLayerNormalization")
        domain = "com.microsoft" if op in own else ""
        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        return names[0]

    def product(self, x: str, name: str, depth: int, width: int, *outputs: str) -> str:
        """Add the product of x and a random 4-bit matrix with a scale for each block of its columns."""
        packed = self.rng.integers(0, 256, (width, depth // BLOCK, BLOCK // 2), np.uint8)
        scales = np.full((width, depth // BLOCK), 0.25 / depth**0.5, np.float32)
        inputs = [x, self.held(f"{name}.weight_Q4", packed), self.held(f"{name}.weight_scales", scales)]
        return self.node("MatMulNBits", inputs, *outputs, K=depth, N=width, bits=4, block_size=BLOCK)

    def norm(self, x: str, name: str) -> str:
        scale = self.held(name, np.ones(WIDTH, np.float32))
        return self.node("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=1e-5, stash_type=1)

    def added(self, x: str, skip: str, name: str) -> tuple[str, str]:
        """Add the norm of x + skip; return the norm and the sum."""
        scale, total = self.held(name, np.ones(WIDTH, np.float32)), f"sum{len(self.nodes)}"
        names = (f"v{len(self.nodes)}", "", "", total)
        return self.node("SkipSimplifiedLayerNormalization", [x, skip, scale], *names, epsilon=1e-5), total

    def decoder(self) -> onnx.ModelProto:
        one, index = self.held("one", np.array([1])), self.held("at", np.array(1))
        length = self.node("Sub", [self.node("ReduceSum", ["attention_mask", one]), one])
        last = self.node("Cast", [length], to=TensorProto.INT32)
        total = self.node("Gather", [self.node("Shape", ["attention_mask"]), index], axis=0)
        total = self.node("Cast", [total], to=TensorProto.INT32)
        angles = np.outer(np.arange(CONTEXT), 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))).astype(np.float32)
        rotary = [self.held("cos_cache", np.cos(angles)), self.held("sin_cache", np.sin(angles))]
        embedding = self.rng.standard_normal((self.vocabulary, WIDTH)).astype(np.float32)
        x = self.node("Gather", [self.held("model.embed_tokens.weight", embedding), "input_ids"])
        y = self.norm(x, "model.layers.0.input_layernorm.weight")
        for layer in range(LAYERS):
            name = f"model.layers.{layer}"
            widths = {"q": HEADS * SIZE, "k": KEY_HEADS * SIZE, "v": KEY_HEADS * SIZE}
            given = [self.product(y, f"{name}.attn.{kind}_proj", WIDTH, width) for kind, width in widths.items()]
            past = [f"past_key_values.{layer}.{kind}" for kind in ("key", "value")]
            present = [f"present.{layer}.{kind}" for kind in ("key", "value")]
            mixed = self.node(
                "GroupQueryAttention", [*given, *past, last, total, *rotary], f"mixed{layer}", *present,
                num_heads=HEADS, kv_num_heads=KEY_HEADS, do_rotary=1, scale=SIZE**-0.5,
            )  # fmt: skip
            mixed = self.product(mixed, f"{name}.attn.o_proj", HEADS * SIZE, WIDTH)
            y, x = self.added(x, mixed, f"{name}.post_attention_layernorm.weight")
            gate = self.product(y, f"{name}.mlp.gate_proj", WIDTH, INNER)
            gate = self.node("Mul", [gate, self.node("Sigmoid", [gate])])
            wide = self.node("Mul", [gate, self.product(y, f"{name}.mlp.up_proj", WIDTH, INNER)])
            down = self.product(wide, f"{name}.mlp.down_proj", INNER, WIDTH)
            y, x = self.added(x, down, f"model.layers.{layer + 1}.input_layernorm.weight")
        self.product(y, "lm_head", WIDTH, self.vocabulary, "logits")
        return self.model()

    def model(self) -> onnx.ModelProto:
        ids = [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"]),
        ]
        shape = ["batch_size", "sequence_length", self.vocabulary]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)
        graph = helper.make_graph(
            self.nodes, "decoder", [*ids, *caches("past_key_values", "past_sequence_length")],
            [logits, *caches("present", "total_sequence_length")], self.weights,
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def caches(name: str, length: str) -> Iterator[Any]:
    """Yield the inputs or outputs for keys and values of all layers."""
    for layer in range(LAYERS):
        for kind in ("key", "value"):
            shape = ["batch_size", KEY_HEADS, length, SIZE]
            yield helper.make_tensor_value_info(f"{name}.{layer}.{kind}", TensorProto.FLOAT, shape)


def write_tokenizer(folder: Path) -> int:
    """Write a byte-level tokenizer with a few merges; return the size of its vocabulary."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(TEXTS, trainer)
    made.save(str(folder / "tokenizer.json"))
    named = {"bos_token": SPECIAL[BEGIN], "eos_token": SPECIAL[END], "pad_token": SPECIAL[PAD]}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **named}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return made.get_vocab_size()


def write_folder(folder: Path) -> None:
    """Write a model of random weights in the files of the model builder."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = write_tokenizer(folder)
    onnx.save(Net(vocabulary).decoder(), folder / "model.onnx")
    decoder = {
        "session_options": {"provider_options": []},
        "filename": "model.onnx",
        "head_size": SIZE,
        "hidden_size": WIDTH,
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KEY_HEADS,
    }
    model = {
        "bos_token_id": BEGIN,
        "context_length": CONTEXT,
        "decoder": decoder,
        "eos_token_id": END,
        "pad_token_id": PAD,
        "type": "llama",
        "vocab_size": vocabulary,
    }
    search = {"do_sample": False, "max_length": CONTEXT, "past_present_share_buffer": True}
    (folder / "genai_config.json").write_text(
        json.dumps({"model": model, "search": search}, indent=4), encoding="utf-8"
    )


def chat(folder: Path, questions: Sequence[str], most: int = 24) -> list[str]:
    """Ask one question after another; return the answers, each of at most ``most`` tokens, and print them."""
    model = og.Model(str(folder))
    tokenizer = og.Tokenizer(model)
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=min(model.context_length, 256))
    generator = og.Generator(model, params)
    answers = []
    for question in questions:
        print(f"You: {question}\nModel: ", end="")
        message = json.dumps([{"role": "user", "content": question}])
        generator.append_tokens(tokenizer.encode(tokenizer.apply_chat_template(message, add_generation_prompt=True)))
        stream, answer = tokenizer.create_stream(), ""
        for _ in range(most):
            generator.generate_next_token()
            text = stream.decode(generator.get_next_tokens()[0])
            answer += text
            print(text, end="", flush=True)
            if generator.is_done():
                break
        print()
        answers.append(answer)
    return answers


def main() -> None:
    questions = ["What is a GPU?", "And a fox?"]
    if len(sys.argv) > 1:
        chat(Path(sys.argv[1]), questions)
        return
    with tempfile.TemporaryDirectory() as scratch:
        write_folder(Path(scratch))
        chat(Path(scratch), questions)


if __name__ == "__main__":
    main()
