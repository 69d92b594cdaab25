"""Language models: transformers' with small configurations, and torch.nn's layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.zoo_of_models.entry import Exported, torch_model

NEEDS = ("transformers",)
SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
ENCODER = {**SMALL, "max_position_embeddings": 64}


class Outputs(nn.Module):
    """Wraps a model to return only the named outputs, as a tuple. given: names of its inputs, in order."""

    def __init__(self, model: nn.Module, given: str, wanted: str, **fixed: Any):
        super().__init__()
        self.model, self.given, self.wanted, self.fixed = model, given.split(), wanted.split(), fixed

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = self.model(**dict(zip(self.given, values, strict=True)), **self.fixed, return_dict=True)
        return tuple(found[name] for name in self.wanted)


def of(kind: str, configuration: str, settings: dict[str, Any]) -> nn.Module:
    """Return transformers' class of this name, created from a configuration, with eager attention."""
    import transformers

    made = getattr(transformers, configuration)(**settings)
    made._attn_implementation = "eager"
    made._experts_implementation = "batched_mm"  # the only implementation that can be exported
    return getattr(transformers, kind)(made)


def words(batch: int = 2, length: int = 10, most: int = 99) -> torch.Tensor:
    return torch.randint(3, most, (batch, length))


def encoder(kind: str, configuration: str, wanted: str = "logits", **more: Any) -> Exported:
    """Return an encoder with token ids and a mask that hides the end of the second text."""
    mask = torch.ones(2, 10, dtype=torch.int64)
    mask[1, 7:] = 0
    net = Outputs(of(kind, configuration, {**ENCODER, **more}), "input_ids attention_mask", wanted)
    return Exported(net, (words(), mask))


def decoder(kind: str, configuration: str, **more: Any) -> Exported:
    net = Outputs(of(kind, configuration, {**SMALL, "pad_token_id": 0, **more}), "input_ids", "logits", use_cache=False)
    return Exported(net, (words(),))


@torch_model("bert", 18, needs=NEEDS)
def bert() -> Exported:
    return encoder("BertForSequenceClassification", "BertConfig")


@torch_model("distilbert", 19, needs=NEEDS)
def distilbert() -> Exported:
    return encoder("DistilBertForMaskedLM", "DistilBertConfig", dim=32, hidden_dim=64, n_layers=2, n_heads=4)


@torch_model("roberta", 20, needs=NEEDS)
def roberta() -> Exported:
    return encoder("RobertaForTokenClassification", "RobertaConfig")


@torch_model("albert", 21, needs=NEEDS)
def albert() -> Exported:
    return encoder("AlbertForQuestionAnswering", "AlbertConfig", "start_logits end_logits", embedding_size=16)


@torch_model("electra", 18, needs=NEEDS)
def electra() -> Exported:
    return encoder("ElectraForPreTraining", "ElectraConfig", embedding_size=16)


@torch_model("mpnet", 18, needs=NEEDS)
def mpnet() -> Exported:
    return encoder("MPNetModel", "MPNetConfig", "last_hidden_state pooler_output")


@torch_model("deberta", 18, needs=NEEDS)
def deberta() -> Exported:
    more = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_biased_input": False}
    return encoder("DebertaV2ForSequenceClassification", "DebertaV2Config", **more)


@torch_model("gpt-2", 18, needs=NEEDS)
def gpt2() -> Exported:
    return decoder("GPT2LMHeadModel", "GPT2Config", n_embd=32, n_layer=2, n_head=4, n_positions=32)


@torch_model("gpt-neox", 18, needs=NEEDS)
def neox() -> Exported:
    return decoder("GPTNeoXForCausalLM", "GPTNeoXConfig", max_position_embeddings=32)


@torch_model("opt", 18, needs=NEEDS)
def opt() -> Exported:
    return decoder("OPTForCausalLM", "OPTConfig", ffn_dim=64, max_position_embeddings=32, word_embed_proj_dim=32)


@torch_model("bloom", 18, needs=NEEDS)
def bloom() -> Exported:
    return decoder("BloomForCausalLM", "BloomConfig", n_layer=2, n_head=4)


@torch_model("llama", 18, needs=NEEDS)
def llama() -> Exported:
    return decoder("LlamaForCausalLM", "LlamaConfig", num_key_value_heads=2)


@torch_model("mistral", 20, needs=NEEDS)
def mistral() -> Exported:
    return decoder("MistralForCausalLM", "MistralConfig", num_key_value_heads=2, sliding_window=4)


@torch_model("qwen-3", 21, needs=NEEDS)
def qwen() -> Exported:
    return decoder("Qwen3ForCausalLM", "Qwen3Config", num_key_value_heads=2, head_dim=8)


@torch_model("gemma", 18, needs=NEEDS)
def gemma() -> Exported:
    return decoder("GemmaForCausalLM", "GemmaConfig", num_key_value_heads=1, head_dim=8)


@torch_model("phi", 18, needs=NEEDS)
def phi() -> Exported:
    return decoder("PhiForCausalLM", "PhiConfig")


@torch_model("mixtral", 18, needs=NEEDS)
def mixtral() -> Exported:
    return decoder("MixtralForCausalLM", "MixtralConfig", num_key_value_heads=2, num_local_experts=4)


@torch_model("mamba", 18, needs=NEEDS)
def mamba() -> Exported:
    return decoder("MambaForCausalLM", "MambaConfig", state_size=4)


@torch_model("t5", 18, needs=NEEDS)
def t5() -> Exported:
    settings = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    net = of("T5ForConditionalGeneration", "T5Config", settings)
    return Exported(Outputs(net, "input_ids decoder_input_ids", "logits", use_cache=False), (words(), words(2, 5)))


@torch_model("bart", 18, needs=NEEDS)
def bart() -> Exported:
    sides = {f"{side}_{what}": number for side in ("encoder", "decoder") for what, number in
             (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))}  # fmt: skip
    net = of("BartForConditionalGeneration", "BartConfig", {"vocab_size": 99, "d_model": 32, **sides})
    return Exported(Outputs(net, "input_ids decoder_input_ids", "logits", use_cache=False), (words(), words(2, 5)))


@torch_model("torch.nn's encoder of transformers", 14, legacy=True)
def encoder_layers() -> Exported:
    torch.backends.mha.set_fastpath_enabled(False)  # TorchScript's exporter cannot express it
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True, activation="gelu")
    return Exported(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 9, 32),))


@torch_model("torch.nn.Transformer", 18)
def both_layers() -> Exported:
    net = nn.Transformer(32, 4, 2, 2, 64, batch_first=True)
    return Exported(net, (torch.randn(2, 9, 32), torch.randn(2, 5, 32)))
