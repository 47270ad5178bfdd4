"""Secrets replaced by a mark before anything is written."""

import re

_MARK = "[redacted]"

# By shape: what a key of a known issuer looks like, wherever it stands. Git hashes, UUIDs and digests are hexadecimal
# and have none of these prefixes, so they stay.
_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{40,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}"
    r"|\b(?:tvly|hf|pypi|npm|rk_live|sk_live|sk_test|whsec|dop_v1|SG\.)[-_.]?[A-Za-z0-9_.-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    re.DOTALL,
)
# By name: the value of what calls itself a secret. A value that is a reference ($VAR, <placeholder>) is no secret.
_NAMED = re.compile(
    r"(?P<name>\b[A-Za-z0-9_.-]*(?:api[_-]?key|apikey|access[_-]?key|secret|passwd|password|auth[_-]?token|access[_-]?token"
    r"|refresh[_-]?token|private[_-]?key|client[_-]?secret|bot[_-]?token)[A-Za-z0-9_]*"
    r"(?:\\?[\"'])?\s*(?:=|:=|:)\s*)(?P<value>\\?\"[^\"\\\n]{4,}\\?\"|'[^'\n]{4,}'|[^\s\"'`,;<>{}$\[\]()\\]{6,})",
    re.IGNORECASE,
)
_BEARER = re.compile(
    r"(?P<name>\b(?:authorization\s*[:=]\s*[\"']?)?(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9+/_.=~-]{16,})",
    re.IGNORECASE,
)
_IN_ADDRESS = re.compile(r"(?P<name>\b[a-z][a-z0-9+.-]*://[^\s:/@]+:)(?P<value>[^\s/@]{3,})(?=@)", re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
_HINT = re.compile(
    r"key|secret|passw|token|bearer|basic|://|sk-|_|AKIA|ASIA|AIza|eyJ|xox|-----BEGIN|tvly|hf|SG\.|npm|glpat",
    re.IGNORECASE,
)
"""Text without any of these holds nothing that the patterns find: most messages end here."""


def redact(text: str) -> tuple[str, int]:
    """The text with each secret replaced by a mark, and how many there were."""
    if not _HINT.search(text):
        return text, 0
    text, count = _SHAPES.subn(_MARK, text)
    for pattern in (_NAMED, _BEARER, _IN_ADDRESS):
        text, more = _replace_values(pattern, text)
        count += more
    return text, count


def _replace_values(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        if _MARK in match["value"] or _is_plain(match["name"], match["value"]):
            return match[0]
        count += 1
        quote = match["value"][: len(match["value"]) - len(match["value"].lstrip("\\\"'"))]
        return f"{match['name']}{quote}{_MARK}{quote}"

    return pattern.sub(replace, text), count


def _is_plain(name: str, value: str) -> bool:
    """A dotted name is code that fetches the secret; a bare word behind anything but "password" is prose."""
    return bool(_CODE.fullmatch(value)) or (value.isalpha() and "passw" not in name.lower())
