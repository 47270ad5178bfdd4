"""Points about the tools that an engine offers to the model."""

import functools
import json
from typing import Any

from .bench import Bench, NotUsed, expect
from .host import ContextEngine, Message, copy_rows, within_seconds
from .point import required
from .samples import long_conversation

_SAMPLES: dict[str, Any] = {
    "string": "billing", "integer": 1, "number": 1.0, "boolean": False, "array": [], "object": {}, "null": None,
}  # fmt: skip


@required("tools.schemas")
def schemas(bench: Bench) -> None:
    """Each schema has a name of its own, a description and parameters, and is the same when asked again."""
    engine = bench.engine()
    found = _schemas(engine)
    names = [schema.get("name") for schema in found]
    expect(
        len(names) == len(set(names)) and all(isinstance(name, str) and name for name in names), f"names are {names}"
    )
    for schema in found:
        parameters = schema.get("parameters")
        expect(isinstance(schema.get("description"), str), f"{schema['name']} has no description")
        expect(
            isinstance(parameters, dict) and parameters.get("type") == "object", f"{schema['name']} has no parameters"
        )
    expect(json.dumps(_schemas(engine)) == json.dumps(found), "they differ when asked again")


@required("tools.answers")
def answers(bench: Bench) -> None:
    """Each tool of a schema answers arguments that fit it with a JSON string, on a thread of its own."""
    engine = bench.engine()
    for schema in _schemas(engine):
        expect_json(call(engine, schema["name"], _arguments(schema)), schema["name"])


@required("tools.wrong-arguments")
def wrong_arguments(bench: Bench) -> None:
    """Arguments that do not fit, as models send them, are answered with a JSON string."""
    engine = bench.engine()
    for schema in _schemas(engine):
        properties = schema["parameters"].get("properties", {})
        wrong: list[dict[str, Any]] = [{}, {"no_such_argument": 1}]
        wrong += [dict.fromkeys(properties, value) for value in (None, "", -1, ["x"], {"y": 1}, "\ud83d \0", 10**30)]
        for arguments in wrong:
            expect_json(call(engine, schema["name"], arguments), f"{schema['name']}({arguments!r:.40})")


@required("tools.unknown")
def unknown(bench: Bench) -> None:
    """A name that it does not have is answered with a JSON string."""
    expect_json(call(bench.engine(), "no_such_tool", {"query": "x"}), "no_such_tool")


@required("tools.inputs")
def inputs(bench: Bench) -> None:
    """A tool leaves the messages it is handed as they were: hosts may hand over the live list."""
    engine, rows = bench.engine(), long_conversation(5)
    before = json.dumps(rows)
    for schema in _schemas(engine):
        engine.handle_tool_call(schema["name"], _arguments(schema), messages=rows)
        expect(json.dumps(rows) == before, f"{schema['name']} edits the messages")


def call(engine: ContextEngine, name: str, arguments: dict[str, Any]) -> object:
    """What a tool answers, on another thread than the rest, as hosts call it."""
    rows = copy_rows(long_conversation(5))
    return within_seconds(0, "call", functools.partial(engine.handle_tool_call, name, arguments, messages=rows))


def expect_json(answer: object, tool: str) -> None:
    """The answer is a string that holds JSON."""
    expect(isinstance(answer, str), f"{tool} answers with {type(answer).__name__}")
    try:
        json.loads(str(answer))
    except ValueError:
        expect(None, f"{tool} answers with text that is no JSON: {answer!r:.60}")


def _schemas(engine: ContextEngine) -> list[Message]:
    schemas = [schema.get("function", schema) for schema in engine.get_tool_schemas()]
    if not schemas:
        raise NotUsed("it has no tools")
    return schemas


def _arguments(schema: Message) -> dict[str, Any]:
    parameters = schema["parameters"]
    properties = parameters.get("properties", {})
    return {name: _sample(properties.get(name, {})) for name in parameters.get("required", [])}


def _sample(kind: Message) -> Any:  # noqa: ANN401 - any JSON
    if kind.get("enum"):
        return kind["enum"][0]
    wanted = kind.get("type", "string")
    return _SAMPLES.get(wanted[0] if isinstance(wanted, list) else wanted)


POINTS = (schemas, answers, wrong_arguments, unknown, inputs)
