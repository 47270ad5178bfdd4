"""Secrets replaced by a mark before anything is written."""

import re

_MARK = "[redacted]"

# Every pattern is linear in the length of the text: what comes before a sign that decides is bounded.
# By shape: what a key of a known issuer looks like, wherever it stands. Git hashes, UUIDs and digests are hexadecimal
# and have none of these prefixes, so they stay.
_SHAPES = re.compile(
    # Of a key that is cut off, what looks like its body; a mention of its first line is no key.
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?:(?!-----).)*-----END [A-Z ]{0,30}PRIVATE KEY-----"
    r"|(?:\s|\\{1,8}[nr]|Proc-Type: [^\n\\]{1,40}|DEK-Info: [^\n\\]{1,80}){0,8}[A-Za-z0-9+/=]{16,}"
    r"(?:\s|\\{1,8}[nr]|[A-Za-z0-9+/=])*)"
    r"|\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}"
    r"|\b(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{40,}|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}"
    r"|\btvly-[A-Za-z0-9_-]{8,}|\b(?:hf|gsk|r8|npm)_[A-Za-z0-9]{20,}|\b(?:xai|pplx|nvapi|pypi)-[A-Za-z0-9_-]{30,}"
    r"|\b(?:rk_live|sk_live|sk_test|whsec|dop_v1)_[A-Za-z0-9]{16,}|\bSG\.[A-Za-z0-9_-]{16,80}\.[A-Za-z0-9_-]{16,}"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b",
    re.DOTALL,
)
_STRONG = (
    r"(?:api[_ -]?key|access[_ -]?key|secret|passwd|password|passphrase|auth[_-]?token|access[_-]?token"
    r"|refresh[_-]?token|private[_-]?key|bot[_-]?token)"
)
_WEAK = r"(?:(?<![A-Za-z0-9])|(?<=_)|(?<=-))(?:token|credentials?)(?![A-Za-z0-9])"
_SEPARATOR = r"(?P<after>[A-Za-z0-9_]{0,40})(?:\\{0,15}[\"'])?\s*(?:=>|:=|=|:)\s*"
_VALUE = (
    r"(?:(?P<quote>\\{0,15}[\"'])(?P<quoted>[^\n]{4,4096}?)(?<!\\)(?P=quote)"
    r"|(?P<bare>(?![$<{\[(%])[^\s\"'`,;\\]{5,}[^\s\"'`,;\\)}\]>.:!?]))"
)
# By name: the value of what calls itself a secret. A value that is a reference ($VAR, <placeholder>) is no secret.
_NAMED = re.compile(rf"(?P<name>(?:(?P<strong>{_STRONG})|{_WEAK}){_SEPARATOR}){_VALUE}", re.IGNORECASE)
_FLAG = re.compile(
    rf"(?P<name>(?<![\w-])--[a-z-]{{0,30}}(?:(?P<strong>{_STRONG})|token)[ =]){_VALUE}",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"^(?P<name>[ \t]*[\w-]{0,30}(?:password|passphrase)\w{0,10}[ \t]*[:=][ \t]*)"
    r"(?P<bare>[^\s\"'`$<{\[(%][^\n\"`<{\[]{4,80}(?<![.!?:;,\s]))$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of its own may hold a pass phrase, spaces and all; one that ends like a sentence is prose."""
_BEARER = re.compile(r"(?P<name>\b(?:bearer|basic)\s+)(?P<bare>[A-Za-z0-9+/_.=~-]{16,})", re.IGNORECASE)
_IN_ADDRESS = re.compile(
    r"(?P<name>\b[a-z][a-z0-9+.-]{0,20}://[^\s:/@]{0,200}:)(?P<bare>[^\s/@]{3,})(?=@)", re.IGNORECASE
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[A-Za-z_][\w.]*[(\[{].*", re.DOTALL)
_ORDINARY = frozenset(
    {"password", "string", "boolean", "integer", "object", "required", "optional", "undefined", "invalid", "missing"}
)
_PROSE = re.compile(r"[a-z]+(?:[._/-][a-z]+)*")
_PLACE = re.compile(r"(?:path|file|name|url|uri|dir|folder|length|policy|field|type)$", re.IGNORECASE)
_MIXED_LENGTH = 16
_HINT = re.compile(
    r"key|secret|passw|passphrase|token|credential|bearer|basic|://|sk-|_|AKIA|ASIA|AIza|eyJ|xox|ya29|-----BEGIN|tvly"
    r"|SG\.|xai-|pplx-|nvapi-|pypi-|glpat|[0-9]{8}:",
    re.IGNORECASE,
)
"""Text without any of these holds nothing that the patterns find: most messages end here."""


def redact(text: str) -> tuple[str, int]:
    """The text with each secret replaced by a mark, and how many there were."""
    if not _HINT.search(text):
        return text, 0
    text, count = _SHAPES.subn(_MARK, text)
    for pattern in (_LINE, _NAMED, _FLAG, _BEARER, _IN_ADDRESS):
        text, more = _replace_values(pattern, text)
        count += more
    return text, count


def _replace_values(pattern: re.Pattern[str], text: str) -> tuple[str, int]:
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        found = match.groupdict()
        quoted = found.get("quoted")
        value = found["bare"] if quoted is None else quoted
        if _MARK in value or _is_plain(pattern, found, value):
            return match[0]
        count += 1
        return match[0][: -len(value)] + _MARK if quoted is None else _requoted(match)

    return pattern.sub(replace, text), count


def _requoted(match: re.Match[str]) -> str:
    return f"{match['name']}{match['quote']}{_MARK}{match['quote']}"


def _is_plain(pattern: re.Pattern[str], found: dict[str, str | None], value: str) -> bool:
    """Whether a value is ordinary: code that fetches the secret, a type, a place, a word of prose."""
    if len(set(value)) == 1 or _PLACE.search(found.get("after") or ""):
        return True
    if pattern is _BEARER:
        return bool(_PROSE.fullmatch(value))
    if pattern in {_NAMED, _FLAG} and not found["strong"]:
        return not _is_mixed(value)
    if pattern is _IN_ADDRESS or found.get("quoted") is not None:
        return False
    is_password = "passw" in str(found["name"]).lower() or "passphrase" in str(found["name"]).lower()
    return bool(_CODE.fullmatch(value)) or value.lower() in _ORDINARY or (value.isalpha() and not is_password)


def _is_mixed(value: str) -> bool:
    """Whether a value is as long and as mixed as drawn tokens are: behind "token" also numbers and words stand."""
    return len(value) >= _MIXED_LENGTH and any(map(str.isdigit, value)) and any(map(str.isalpha, value))
