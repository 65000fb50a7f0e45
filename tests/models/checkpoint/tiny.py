"""Tiny checkpoints with random weights, saved as Hugging Face would: real architectures, real processors, no hub."""

import sys
from pathlib import Path
from typing import Any

import torch

try:
    import torchvision  # noqa: F401
except RuntimeError:  # built for another torch, it cannot load its own operators; images need none of them
    _OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _OPERATORS.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for _name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[_name]

from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    CLIPImageProcessor,
    CLIPVisionConfig,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3ImageProcessor,
    Idefics3Processor,
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
)

SENTENCES = (
    "What colour is the large cube to the left of the small ball? Answer with a word.",
    "How many red things are there in the image? Reply briefly, and say nothing else.",
    "a red cube, a blue ball, a green cone, two birds, three birds, seventeen birds",
)
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "{% if not loop.last or message['role'] == 'user' %}</s>\n{% elif not continue_final_message %}</s>\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
HIDDEN = 64
LANGUAGE: dict[str, Any] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,  # of 32, which vLLM's kernels want
    "num_key_value_heads": 1,
    "max_position_embeddings": 2048,
}
KINDS = ("llama", "llava", "qwen2-vl", "idefics3")
SERVED = "served-llava"
"""A LLaVA with as many tokens an image as real ones have, for caches of prefixes."""


def make_checkpoint(kind: str, folder: Path) -> Path:
    """A checkpoint of an architecture, with its processor, in a folder."""
    torch.manual_seed(0)
    makers = {"llama": _llama, "llava": _llava, "qwen2-vl": _qwen, "idefics3": _idefics, SERVED: _served}
    model, processor = makers[kind]()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)  # so that likelihoods differ visibly from one another
    model.generation_config.eos_token_id = processor_tokenizer(processor).eos_token_id
    model.generation_config.pad_token_id = processor_tokenizer(processor).pad_token_id
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    if "llava" in kind:
        _published_names(folder)
    return folder


def processor_tokenizer(processor: Any) -> Any:
    return getattr(processor, "tokenizer", processor)


def _tokenizer(image: str, *more: str) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE(byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\s?\w+|\s|[^\w\s]"), "isolated"),
            pre_tokenizers.ByteLevel(False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<pad>", "</s>", "<|system|>", "<|user|>", "<|assistant|>", *([image] if image else []), *more]
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    named = {"image_token": image} if image else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="</s>",
        pad_token="<pad>",
        chat_template=TEMPLATE.replace("IMAGE", image),
        extra_special_tokens=named,
    )


def _llama() -> tuple[Any, Any]:
    tokenizer = _tokenizer("")
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **LANGUAGE)), tokenizer


_EYES: dict[str, dict[str, int]] = {
    "tiny": {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
    | {"image_size": 28, "patch_size": 7},
    "served": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    | {"image_size": 336, "patch_size": 14},
    "real": {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    | {"image_size": 336, "patch_size": 14},
}


def _llava(size: str = "tiny") -> tuple[Any, Any]:
    """LLaVA's architecture: tiny, so with 576 tokens an image, or of the size of LLaVA-1.5-7B."""
    tokenizer = _tokenizer("<image>")
    image = tokenizer.convert_tokens_to_ids("<image>")
    vision = CLIPVisionConfig(**_EYES[size])
    if size == "real":
        text = LlamaConfig(vocab_size=32064, max_position_embeddings=4096)
    else:
        text = LlamaConfig(vocab_size=len(tokenizer), **LANGUAGE)
    config = LlavaConfig(vision_config=vision, text_config=text, image_token_index=image, image_token_id=image)
    side = vision.image_size
    processor = LlavaProcessor(
        CLIPImageProcessor(size={"shortest_edge": side}, crop_size={"height": side, "width": side}),
        tokenizer,
        patch_size=vision.patch_size,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=tokenizer.chat_template,
    )
    return LlavaForConditionalGeneration(config), processor


def _served() -> tuple[Any, Any]:
    return _llava("served")


def _published_names(folder: Path) -> None:
    """Name the weights as LLaVA's authors did; transformers reads both, vLLM these alone."""
    path = folder / "model.safetensors"
    weights = {
        name.replace("vision_tower.", "vision_tower.vision_model."): one for name, one in load_file(path).items()
    }
    save_file(weights, path, {"format": "pt"})


def make_llava(folder: Path, *, real: bool) -> Path:
    """For measurements: LLaVA's architecture with random weights, of real size in half precision if asked."""
    if not real:
        return make_checkpoint("llava", folder)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model, processor = _llava("real")
    torch.set_default_dtype(torch.float32)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _qwen() -> tuple[Any, Any]:
    letters = ("<|vision_start|>", "<|vision_end|>", "<|video_pad|>")
    tokenizer = _tokenizer("<|image_pad|>", *letters)
    start, end, video = tokenizer.convert_tokens_to_ids(list(letters))
    image = tokenizer.convert_tokens_to_ids("<|image_pad|>")
    template = TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
    config = Qwen2VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "rope_parameters": {"rope_type": "default", "mrope_section": [4, 6, 6], "rope_theta": 10000.0},
            **LANGUAGE,
        },
        vision_config={
            "depth": 2,
            "embed_dim": 64,
            "hidden_size": HIDDEN,
            "num_heads": 2,
            "mlp_ratio": 2,
            "patch_size": 4,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
        },
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
    )
    processor = Qwen2VLProcessor(
        Qwen2VLImageProcessor(patch_size=4, merge_size=2, min_pixels=64, max_pixels=1024),
        tokenizer,
        Qwen2VLVideoProcessor(),
        chat_template=template,
    )
    return Qwen2VLForConditionalGeneration(config), processor


def _idefics() -> tuple[Any, Any]:
    letters = ("<fake_token_around_image>", "<global-img>", "<end_of_utterance>", "<row_1_col_1>")
    tokenizer = _tokenizer("<image>", *letters)
    image = tokenizer.convert_tokens_to_ids("<image>")
    config = Idefics3Config(
        text_config=LlamaConfig(vocab_size=len(tokenizer), **LANGUAGE),
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
        },
        image_token_id=image,
        scale_factor=2,
    )
    images = Idefics3ImageProcessor(
        size={"longest_edge": 32}, max_image_size={"longest_edge": 32}, do_image_splitting=False
    )
    processor = Idefics3Processor(
        images, tokenizer, image_seq_len=4, chat_template=TEMPLATE.replace("IMAGE", "<image>")
    )
    return Idefics3ForConditionalGeneration(config), processor


if __name__ == "__main__":
    make_checkpoint(sys.argv[1], Path(sys.argv[2]))
