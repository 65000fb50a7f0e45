"""A tiny vision-language model with random weights as llama.cpp takes it: ``python tiny_gguf.py SOURCE.gguf FOLDER``.

Run by the Python that has llama.cpp; the tokenizer and chat template are those of another file. Its weights are whole
floats, because with quantised ones llama.cpp's sums depend on how many tokens it computes at once.
"""

import sys
from pathlib import Path

import gguf  # type: ignore[import-not-found]
import numpy as np
from numpy.typing import NDArray

WIDTH, HEADS, LAYERS, HIDDEN = 64, 2, 2, 128
IMAGE, PATCH = 56, 14
_CHANCE = np.random.default_rng(0)


def drawn(*shape: int, scale: float = 0.2) -> NDArray[np.float32]:
    return (_CHANCE.standard_normal(shape) * scale).astype(np.float32)


def language(source: Path, path: Path) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    reader = gguf.GGUFReader(source)
    for name, field in reader.fields.items():
        if name.startswith("tokenizer."):
            kind = field.types[0]
            writer.add_key_value(name, field.contents(), kind, field.types[-1] if len(field.types) > 1 else None)
    size = len(reader.fields["tokenizer.ggml.tokens"].contents())
    writer.add_vocab_size(size)
    tensors = {"token_embd": (size, WIDTH), "output": (size, WIDTH)}
    for layer in range(LAYERS):
        tensors |= {f"blk.{layer}.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        tensors |= {f"blk.{layer}.ffn_{name}": (HIDDEN, WIDTH) for name in ("gate", "up")}
        tensors |= {f"blk.{layer}.ffn_down": (WIDTH, HIDDEN)}
    for name, shape in tensors.items():
        writer.add_tensor(f"{name}.weight", drawn(*shape, scale=1.0 if name == "token_embd" else 0.2))
    norms = ["output_norm", *(f"blk.{layer}.{name}_norm" for layer in range(LAYERS) for name in ("attn", "ffn"))]
    for name in norms:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    _write(writer)


def vision(path: Path) -> None:
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    whole = {"image_size": IMAGE, "patch_size": PATCH, "embedding_length": WIDTH, "feed_forward_length": HIDDEN}
    whole |= {"projection_dim": WIDTH, "block_count": LAYERS, "attention.head_count": HEADS}
    for name, value in whole.items():
        writer.add_uint32(f"clip.vision.{name}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    patches = (IMAGE // PATCH) ** 2
    writer.add_tensor("v.patch_embd.weight", drawn(WIDTH, 3, PATCH, PATCH))
    writer.add_tensor("v.class_embd", drawn(WIDTH))
    writer.add_tensor("v.position_embd.weight", drawn(patches + 1, WIDTH))
    shapes = {
        "attn_q": (WIDTH, WIDTH),
        "attn_k": (WIDTH, WIDTH),
        "attn_v": (WIDTH, WIDTH),
        "attn_out": (WIDTH, WIDTH),
    }
    shapes |= {"ffn_up": (HIDDEN, WIDTH), "ffn_down": (WIDTH, HIDDEN)}
    tensors = {f"v.blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in shapes.items()}
    tensors |= {"mm.0": (WIDTH, WIDTH), "mm.2": (WIDTH, WIDTH)}
    for name, shape in tensors.items():
        writer.add_tensor(f"{name}.weight", drawn(*shape))
        writer.add_tensor(f"{name}.bias", drawn(shape[0]))
    for name in ("v.pre_ln", *(f"v.blk.{layer}.{one}" for layer in range(LAYERS) for one in ("ln1", "ln2"))):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(WIDTH, np.float32))
    _write(writer)


def _write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    language(Path(sys.argv[1]), folder / "language.gguf")
    vision(folder / "vision.gguf")
