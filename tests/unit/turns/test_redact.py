"""Secrets are replaced, and ordinary text is not."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from tests.growth import LONGEST_GROWTH, growth
from vecctx.turns.redact import redact

PASSWORD = "correct horse battery staple"
TELEGRAM = "123456789:AAF9x8y7z6w5v4u3t2s1r0q9p8o7n6m5l4k"

SECRET_TEXTS = {
    **{name: (f"it is {secret}, keep it", secret) for name, secret in weird.SECRETS.items()},
    "a key behind its name": ("TAVILY_API_KEY=tvly-abc123", "tvly-abc123"),
    "a key in an error": ("Invalid API key: sk-ant-api03-abcdefghijklmnop", "sk-ant-api03-abcdefghijklmnop"),
    "a key of no known shape": ("Invalid API key: abcDEF123456", "abcDEF123456"),
    "a private key": (weird.PEM, "MIIEpAIBAAKCAQEA7bq9k2mZ"),
    "a private key that is cut off": (weird.PEM[:100], "MIIEpAIBAAKCAQEA7bq9k2mZ"),
    "a bearer header": ("Authorization: Bearer abc123DEF456ghi789", "abc123DEF456ghi789"),
    "a basic header": ("authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
    "a quoted pass phrase": (f'password = "{PASSWORD}"', PASSWORD),
    "a pass phrase in single quotes": (f"password: '{PASSWORD}'", PASSWORD),
    "a pass phrase on a line": (f"the login:\nPassword: {PASSWORD}\nthanks", PASSWORD),
    "signs in a password": ("password=pa$$w0rd", "pa$$w0rd"),
    "a password with escapes": (json.dumps({"password": 'pa\\ss"word1'}), "word1"),
    "a name with spaces": ("access key = wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
    "camel case": ('{"clientSecret": "x9x8x7x6"}', "x9x8x7x6"),
    "an arrow": ('secret => "abcd1234"', "abcd1234"),
    "a weak name with a drawn value": ("GH_TOKEN=abcdef1234567890abcd", "abcdef1234567890abcd"),
    "a token in JSON": ('{"token":"9f8e7d6c5b4a39281706"}', "9f8e7d6c5b4a39281706"),
    "a flag": ("mysql --password hunter22 -h db", "hunter22"),
    "a flag with a quoted phrase": (f"login --password '{PASSWORD}'", PASSWORD),
    "an address": ("postgres://bob:hunter2x@db.local/x", "hunter2x"),
    "an address with a plain word": ("amqp://bob:swordfish@mq/", "swordfish"),
    "a plain word in quotes": ('"secret": "swordfish"', "swordfish"),
    "a plain pass phrase": ("the passphrase=swordfish works", "swordfish"),
    "an address without user": ("redis://:s3cretpass@host:6379", "s3cretpass"),
    "a query": ("https://x.y/?api_key=abc123def456", "abc123def456"),
    "a bot": (f"bot {TELEGRAM}", TELEGRAM),
}


@pytest.mark.parametrize(("text", "secret"), SECRET_TEXTS.values(), ids=SECRET_TEXTS.keys())
@pytest.mark.parametrize("depth", [0, 1, 2, 3], ids=["plain", "in JSON", "in arguments", "in arguments in a payload"])
def test_a_secret_is_replaced_wherever_it_stands(text: str, secret: str, depth: int) -> None:
    for level in range(depth):
        text, secret = json.dumps({"content": text} if level == 0 else text), json.dumps(secret)[1:-1]

    found, count = redact(text)

    assert secret not in found
    assert count == 1
    assert "[redacted]" in found


@pytest.mark.parametrize(("text", "secret"), SECRET_TEXTS.values(), ids=SECRET_TEXTS.keys())
def test_redacted_json_is_still_json(text: str, secret: str) -> None:
    arguments = json.dumps({"password": PASSWORD, "text": text, "after": 1})

    found = json.loads(redact(json.dumps({"arguments": arguments}))[0])

    assert json.loads(found["arguments"])["after"] == 1
    assert PASSWORD not in found["arguments"]


ORDINARY = [
    "the password is important",
    'api_key = os.environ["X"]',
    "api_key = getenv('X')",
    "password = getpass()",
    "self.password = password",
    "password: string;",
    "password=$PASSWORD",
    "secret: ${SECRET}",
    "secret=<your secret>",
    "password: ********",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "123e4567-e89b-12d3-a456-426614174000",
    "max_tokens=4096, prompt_tokens: 123456",
    '"token_count": 1234567',
    "if token == other_token_with_long_name1:",
    "npm-check-updates-long-name and npm_config_registry_url",
    "pypi-attestations-more",
    "basic internationalization",
    "a bearer token-based-authentication scheme",
    "private_key_path=/home/me/.ssh/id_rsa",
    "a PEM file begins with -----BEGIN PRIVATE KEY-----. Then comes base64.",
    "http://localhost:8080/path@2x.png",
    "secret: unknown so far",
    "token: 1234567890123456789",
    "token: abcdefghijklmnopqrst",
    "token: abc123def456ghi",
    "the key: value pairs",
    "12:30: lunch, 13:00: work",
    "https://example.com/a:b",
    "",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_untouched(text: str) -> None:
    assert redact(text) == (text, 0)
    assert redact(json.dumps({"text": text})) == (json.dumps({"text": text}), 0)


@given(st.lists(st.sampled_from([*(text for text, _ in SECRET_TEXTS.values()), *ORDINARY, " ", "\n", '"', "x"])))
def test_what_is_redacted_stays_as_it_is(pieces: list[str]) -> None:
    found, _ = redact("\n".join(pieces))

    assert redact(found) == (found, 0)


@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    found, count = redact(text)

    assert (found == text) == (count == 0)


def test_each_secret_counts() -> None:
    assert redact(" ".join(weird.SECRETS.values()))[1] == len(weird.SECRETS)


UNITS = [
    *(
        "^",
        "a",
        "key=",
        "a-",
        "a.",
        "a_",
        "a:",
        " ",
        "\n",
        "-",
        "\\",
        "password",
        "password ",
        "password   ",
        "secret: ",
    ),
    *("password='", 'password="', "password=\"'", 'secret=\\"', "eyJ-", "eyJaaaaaaaa.", "sk-", "-----BEGIN "),
    *("-----BEGIN PRIVATE KEY-----", "http://", "A://b:", "bearer ", "--", "--a", "--password ", "123456789:"),
    "password: x\n",
]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_costs_by_its_length(unit: str) -> None:
    """A megabyte of "password" took hours."""
    assert growth(lambda text: redact("key " + text), unit) < LONGEST_GROWTH
