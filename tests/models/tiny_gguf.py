"""A tiny language model with random weights as llama.cpp takes it: ``python tiny_gguf.py SOURCE.gguf FOLDER``.

Run by the Python that has llama.cpp; the tokenizer and chat template are those of another file. Its weights are whole
floats, because with quantised ones llama.cpp's sums depend on how many tokens it computes at once.
"""

import sys
from pathlib import Path

import gguf  # type: ignore[import-not-found]
import numpy as np
from numpy.typing import NDArray

WIDTH, HEADS, LAYERS, HIDDEN = 64, 2, 2, 128
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


def _write(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    language(Path(sys.argv[1]), folder / "language.gguf")
