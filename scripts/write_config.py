#!/usr/bin/env python3
"""Writes what follows from the keys of the configuration: the dataclasses of the Python package, and a JSON Schema by which
editors complete and check YAML.

usage: scripts/write_config.py           writes python/tare/config.py and configs/config.schema.json
       scripts/write_config.py --check   says whether they are as they would be written

The keys are those of docs/reference/configuration.md, which the program's own list is held against.
"""
import json
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 125
WRITTEN = "Written by scripts/write_config.py from docs/reference/configuration.md."

CLASSES = {  # place -> class; entries of layers share those of the whole
    "": "Config", "activations": "Activations", "weights": "Weights", "calibration": "Calibration", "accuracy": "Accuracy", "cache": "Cache", "embeddings": "Embeddings",
    "requantize": "Requantize", "accumulator": "Accumulator", "layers[]": "Layer", "layers[].match": "Match",
    "layers[].activations": "Activations", "layers[].inputs": "Activations", "layers[].weights": "Weights",
    "layers[].accuracy": "Accuracy", "inputs.NAME": "Input",
    "layers[].requantize": "Requantize", "layers[].accumulator": "Accumulator",
}
ABOUT = {
    "Config": "Everything that can be decided about quantizing a network. What is None is as the default says, or as the file.",
    "Activations": "How values are quantized that are computed from the inputs.",
    "Weights": "How constants of convolutions and products are quantized.",
    "Calibration": "How the data is used.",
    "Accuracy": "Methods that reduce the error.",
    "Requantize": "How the integer graph rescales.",
    "Accumulator": "The accumulator of sums of products.",
    "Embeddings": "Tables in which a language model looks tokens up.",
    "Cache": "Keys and values that a decoder hands on from step to step.",
    "Layer": "A rule for single layers. All that match a node are merged key by key, and later ones win.",
    "Input": "How samples that are no arrays become values of an input.",
    "Match": "Which nodes a rule is about; all conditions must hold.",
}
NUMBER = r"(-?[0-9.]+)"


def integer(low=None, high=None):
    limits = {"minimum": low, "maximum": high}
    return {"type": "integer", **{key: int(value) for key, value in limits.items() if value is not None}}


def words(text):
    """The words of "a, b or c"; nothing where it is something else."""
    found = re.split(r", | or ", text)
    return found if all(re.fullmatch(r"[a-z0-9_-]+", word) for word in found) else None


def one_of(names):
    values = [{"true": True, "false": False}.get(name, int(name) if name.isdigit() else name) for name in names]
    if set(names) == {"true", "false"}:
        return "bool", {"type": "boolean"}
    kinds = [kind.__name__ for kind in (bool, int, str) if any(type(value) is kind for value in values)]
    return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]", {"enum": values}


def or_list(type_, schema):
    """One, or a list of them."""
    return f"Union[{type_}, List[{type_}]]", {"anyOf": [schema, {"type": "array", "items": schema}]}


RULES = [  # what a key takes, as the reference says it -> type, schema
    (r"1", lambda match: ("int", {"const": 1})),
    (r"(.+), or the path of a target file", lambda match: ("str", {"anyOf": [
        {"enum": words(match[1])}, {"type": "string", "pattern": r"/|\.ya?ml$"}]})),
    (rf"an integer in \[{NUMBER},{NUMBER}\], or a list of them", lambda match: or_list("int", integer(match[1], match[2]))),
    (rf"an integer of at least {NUMBER}, or a list of them", lambda match: or_list("int", integer(match[1]))),
    (r"a number(?: above 0)?, or a list of them", lambda match: or_list("float", {"type": "number"})),
    (r"a number above 0, or a quotient such as .*", lambda match: ("Union[float, str]", {"anyOf": [
        {"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": "^[0-9.]+ */ *[0-9.]+$"}]})),
    (rf"an integer in \[{NUMBER},{NUMBER}\]", lambda match: ("int", integer(match[1], match[2]))),
    (rf"an integer of at least {NUMBER}", lambda match: ("int", integer(match[1]))),
    (rf"([a-z]+), or an integer in \[{NUMBER},{NUMBER}\]", lambda match: ("Union[int, str]", {"anyOf": [
        {"const": match[1]}, integer(match[2], match[3])]})),
    (rf"([a-z]+), or an integer of at least {NUMBER}", lambda match: ("Union[int, str]", {"anyOf": [
        {"const": match[1]}, integer(match[2])]})),
    (rf"([a-z]+), or a number of at least {NUMBER}", lambda match: ("Union[float, str]", {"anyOf": [
        {"const": match[1]}, {"type": "number", "minimum": float(match[2])}]})),
    (r"0, or a number of bytes such as .*", lambda match: ("Union[int, str]", {"anyOf": [
        {"const": 0}, {"type": "string", "pattern": "^[0-9]+ *([KMG]i?)?B$"}]})),
    (r"an integer, or a range such as .*", lambda match: ("Union[int, str]", {"anyOf": [
        {"type": "integer"}, {"type": "string", "pattern": r"^[0-9]*\.\.[0-9]*$"}]})),
    (r"a text|a pattern such as .*|a name", lambda match: ("str", {"type": "string"})),
    (r"a list of names", lambda match: ("List[str]", {"type": "array", "items": {"type": "string"}})),
    (r"(?:a|an) number.*", lambda match: ("float", {"type": "number"})),
]


def type_of(path, values):
    """The Python type and the JSON Schema of a key that is no map."""
    if path.endswith("calibrator"):
        names = {"enum": words(values)}
        options = {"type": "object", "required": ["name"], "properties": {"name": names},
                   "additionalProperties": {"type": "number"}}
        return "Union[str, Mapping[str, Any], Any]", {"anyOf": [names, options, {"type": "string"}]}
    for pattern, make in RULES:
        match = re.fullmatch(pattern, values)
        if match:
            return make(match)
    if words(values):
        return one_of(words(values))
    raise SystemExit(f"scripts/write_config.py: '{path}' takes '{values}', for which there is no rule; add one to RULES")


def keys():
    """(path, values, default, summary) of each row."""
    text = (ROOT / "docs/reference/configuration.md").read_text()
    for row in re.findall(r"^\| `(.+)$", text, re.MULTILINE):
        path, values, default, summary = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)][:4]
        yield path.rstrip("`"), values, default.strip("`"), re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", summary).replace("\\|", "|")


def place_of(path):
    parent, _, name = path.rpartition(".")
    return parent, name


def tree():
    """Class -> {name: (type, schema or the class it is, default, summary)} in the order of the reference."""
    classes = {}
    for path, values, default, summary in keys():
        parent, name = place_of(path)
        is_list = name.endswith("[]")
        if path == "inputs.NAME":
            parent, name = "", "inputs"
            own = {"$ref": "#/$defs/Input"}
            entry = ("Mapping[str, Input]", {"type": "object", "additionalProperties": own}, default, summary)
        elif path == "state.NAME":
            parent, name = "", "state"
            entry = ("Mapping[str, str]", {"type": "object", "additionalProperties": {"type": "string"}}, default, summary)
        elif path == "dims.NAME":
            parent, name = "", "dims"
            entry = ("Mapping[str, int]", {"type": "object", "additionalProperties": integer(1)}, default, summary)
        elif values.startswith("a map"):
            if path not in CLASSES:
                raise SystemExit(f"scripts/write_config.py: '{path}' is a map; name its class in CLASSES")
            own = CLASSES[path]
            also = words(values.partition(", or ")[2]) or []
            type_ = f"List[{own}]" if is_list else own
            entry = (f"Union[{type_}, str]" if also else type_, (own, is_list, also), default, summary)
        else:
            entry = (*type_of(path, values), default, summary)
        known = classes.setdefault(CLASSES[parent], {})
        known.setdefault(name.removesuffix("[]"), entry)
    return classes


def wrapped(text, indent, first=""):
    return textwrap.wrap(text, WIDTH, initial_indent=indent + first, subsequent_indent=indent + "  ",
                         break_long_words=False, break_on_hyphens=False)


def class_lines(name, fields):
    lines = ["", "", "@dataclasses.dataclass", f"class {name}:"]
    lines += wrapped(ABOUT[name], "    ", '"""') + [""]
    for field, (_, schema, default, summary) in fields.items():
        without = f" (default {default})" if default and not isinstance(schema, tuple) else ""
        lines += wrapped(f"{field}: {summary}{without}", "    ")
    if name == "Config":
        lines += ["", "    >>> import tare", "    >>> tare.Config(weights=tare.Weights(bits=4)).weights.bits", "    4"]
    lines += ['    """', ""]
    return lines + [f"    {field}: Optional[{type_}] = None" for field, (type_, *_) in fields.items()]


def python_text(classes):
    lines = ['"""The configuration as dataclasses.', "", WRITTEN, '"""', "from __future__ import annotations", "",
             "import dataclasses", "from typing import Any, List, Mapping, Optional, Union"]
    for name in reversed(list(dict.fromkeys(CLASSES.values()))):
        lines += class_lines(name, classes[name])
    return "\n".join(lines) + "\n"


def schema_of(name, classes):
    properties = {}
    for field, (_, schema, default, summary) in classes[name].items():
        if isinstance(schema, tuple):
            own, is_list, also = schema
            own = {"$ref": f"#/$defs/{own}"}
            own = {"type": "array", "items": own} if is_list else own
            schema = {"anyOf": [own, {"enum": also}]} if also else own
        properties[field] = {**schema, "description": summary + (f" (default {default})" if default else "")}
    return {"type": "object", "description": ABOUT[name], "additionalProperties": False, "properties": properties}


def schema_text(classes):
    root = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "configuration of tare", "$comment": WRITTEN,
            **schema_of("Config", classes),
            "$defs": {name: schema_of(name, classes) for name in classes if name != "Config"}}
    return json.dumps(root, indent=1) + "\n"


def main(words_given):
    classes = tree()
    status = 0
    for path, text in (("python/tare/config.py", python_text(classes)),
                       ("configs/config.schema.json", schema_text(classes))):
        file = ROOT / path
        if "--check" not in words_given:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            print(f"{path} is not what scripts/write_config.py writes")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
