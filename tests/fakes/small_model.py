"""A sentence-transformers model small enough to make in a test."""

import json
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

from vecctx.adapters.model_files import model_folder

DIMENSIONS = 32

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "modules.json")
_SETTINGS: dict[str, Any] = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 30_522,
    "hidden_size": DIMENSIONS,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def save_small_model(folder: Path, seed: int = 0, prompts: dict[str, str] | None = None) -> Path:
    """A BERT of one layer with random weights and the shipped tokenizer; needs torch and transformers."""
    # By name, so that types are checked where these are not installed.
    torch, transformers = import_module("torch"), import_module("transformers")
    torch.manual_seed(seed)
    save_settings(folder, prompts)
    transformers.BertModel(transformers.BertConfig(**_SETTINGS)).save_pretrained(folder)
    return folder


def save_settings(folder: Path, prompts: dict[str, str] | None = None) -> Path:
    """The same folder without its weights; needs nothing."""
    for name in _TOKENIZER_FILES:
        shutil.copy(model_folder("all-MiniLM-L6-v2") / name, folder / name)
    pooling = {"word_embedding_dimension": DIMENSIONS, "pooling_mode_mean_tokens": True}
    contents = {
        "config.json": _SETTINGS,
        "sentence_bert_config.json": {"max_seq_length": 128},
        "config_sentence_transformers.json": {"prompts": prompts or {}},
        "1_Pooling/config.json": pooling,
    }
    for name, content in contents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    return folder
