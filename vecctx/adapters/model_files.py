"""Where the shipped models and tokenizer ranks are, and whether they are whole."""

import hashlib
from pathlib import Path

from vecctx.errors import ModelError

_PACKAGE = Path(__file__).resolve().parent.parent
# A wheel carries the models inside the package; in a checkout they stand beside it.
_PLACES = (_PACKAGE / "models", _PACKAGE.parent / "models")

CHECKSUMS = "SHA256SUMS"


def model_folder(name: str) -> Path:
    """The folder of a shipped model.

    Raises:
        ModelError: it is not there.
    """
    for place in _PLACES:
        if (place / name / CHECKSUMS).is_file():
            return place / name
    raise ModelError(f"the shipped model {name!r} is not in {_PLACES[0]} or {_PLACES[1]}; install vecctx again")


def expected_sha256(folder: Path, file_name: str) -> str:
    """The checksum of a file as its folder's SHA256SUMS has it; reads nothing else.

    Raises:
        ModelError: there is no such list, or the file is not in it.
    """
    try:
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelError(f"{folder / CHECKSUMS} cannot be read ({problem}); install vecctx again") from problem
    for line in lines:
        checksum, _, listed = line.partition("  ")
        if listed == file_name:
            return checksum
    raise ModelError(f"{folder / CHECKSUMS} does not list {file_name}; install vecctx again")


def read_verified(path: Path, sha256: str) -> bytes:
    """The bytes of a file that has this checksum.

    Raises:
        ModelError: the file is missing or damaged.
    """
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise ModelError(f"{path} cannot be read ({problem.strerror}); install vecctx again") from problem
    check_sha256(path, content, sha256)
    return content


def check_sha256(path: Path, content: bytes, sha256: str) -> None:
    """Nothing, if the content has this checksum.

    Raises:
        ModelError: it has another one.
    """
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelError(f"{path} is damaged: its checksum is not {sha256[:12]}...; install vecctx again")
