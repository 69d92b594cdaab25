"""transformers' models of images, audio, and images with text, with small configurations."""

from __future__ import annotations

from typing import Any

import torch

from tools.zoo_of_models.classifiers import image
from tools.zoo_of_models.entry import Exported, torch_model
from tools.zoo_of_models.language import NEEDS, SMALL, Outputs, of, words

SIGHT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
PATCHES = {**SIGHT, "image_size": 32, "patch_size": 8}


def seen(kind: str, configuration: str, settings: dict[str, Any], wanted: str = "logits") -> Exported:
    return Exported(Outputs(of(kind, configuration, settings), "pixel_values", wanted), (image(32),))


@torch_model("vit", 18, needs=NEEDS)
def vit() -> Exported:
    return seen("ViTForImageClassification", "ViTConfig", PATCHES)


@torch_model("dinov2", 18, needs=NEEDS)
def dinov2() -> Exported:
    return seen("Dinov2Model", "Dinov2Config", PATCHES, "last_hidden_state pooler_output")


@torch_model("beit", 18, needs=NEEDS)
def beit() -> Exported:
    return seen("BeitForImageClassification", "BeitConfig", {**PATCHES, "use_relative_position_bias": True})


@torch_model("swin of transformers", 18, needs=NEEDS)
def swin() -> Exported:
    settings = {
        "image_size": 32,
        "patch_size": 4,
        "embed_dim": 16,
        "depths": [2, 2],
        "num_heads": [2, 4],
        "window_size": 4,
    }
    return seen("SwinForImageClassification", "SwinConfig", settings)


@torch_model("convnext-v2 of transformers", 18, needs=NEEDS)
def convnext() -> Exported:
    settings = {"hidden_sizes": [16, 32], "depths": [1, 2], "num_stages": 2}
    return seen("ConvNextV2ForImageClassification", "ConvNextV2Config", settings)


@torch_model("segformer", 18, needs=NEEDS)
def segformer() -> Exported:
    settings = {
        "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32], "patch_sizes": [7, 3],
        "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2], "decoder_hidden_size": 16,
    }  # fmt: skip
    return seen("SegformerForSemanticSegmentation", "SegformerConfig", settings)


@torch_model("yolos", 18, needs=NEEDS)
def yolos() -> Exported:
    settings = {**PATCHES, "image_size": [32, 32], "num_detection_tokens": 5, "use_mid_position_embeddings": False}
    return seen("YolosForObjectDetection", "YolosConfig", settings, "logits pred_boxes")


@torch_model("clip", 18, needs=NEEDS)
def clip() -> Exported:
    text = {**SMALL, "max_position_embeddings": 16, "eos_token_id": 98, "projection_dim": 24}
    both = {"text_config": text, "vision_config": PATCHES, "projection_dim": 24}
    net = Outputs(of("CLIPModel", "CLIPConfig", both), "input_ids pixel_values", "logits_per_image text_embeds")
    spoken = words(2, 8, 98)
    spoken[:, -1] = 98
    return Exported(net, (spoken, image(32, 3)))


@torch_model("whisper", 18, needs=NEEDS)
def whisper() -> Exported:
    settings = {
        "vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "num_mel_bins": 20,
        "max_source_positions": 30, "max_target_positions": 20, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "decoder_start_token_id": 1,
    }  # fmt: skip
    net = of("WhisperForConditionalGeneration", "WhisperConfig", settings)
    heard = Outputs(net, "input_features decoder_input_ids", "logits", use_cache=False)
    return Exported(heard, (torch.randn(1, 20, 60), words(1, 6)))


@torch_model("wav2vec-2", 18, needs=NEEDS)
def wav2vec() -> Exported:
    settings = {
        **SMALL, "conv_dim": [16, 16, 16], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 2],
        "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2,
    }  # fmt: skip
    return Exported(
        Outputs(of("Wav2Vec2ForCTC", "Wav2Vec2Config", settings), "input_values", "logits"), (torch.randn(1, 800),)
    )


@torch_model("sound spectrogram transformer", 18, needs=NEEDS)
def spectrogram() -> Exported:
    settings = {**SIGHT, "patch_size": 8, "num_mel_bins": 16, "max_length": 48}
    net = of("ASTForAudioClassification", "ASTConfig", settings)
    return Exported(Outputs(net, "input_values", "logits"), (torch.randn(1, 48, 16),))
