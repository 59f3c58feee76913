"""Writes the package's type stubs from the tables' rows: python stubs.py FOLDER, with braze importable.

One stub a module: braze/__init__.pyi has Tensor with its methods and torch's functions, linalg.pyi, special.pyi and nn/functional.pyi
theirs. What is written in Python has its annotations there; names that are not rows are copied from the modules as they are.
"""
import inspect
import os
import re
import sys

# The package beside this file has no extension; the built one is meant.
sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != os.path.dirname(os.path.realpath(__file__))]

TYPES = {"Tensor": "Tensor", "Tensor|Scalar": "Tensor | Number", "Scalar": "Number", "int": "_int", "float": "_float", "bool": "_bool",
         "ScalarType": "_dtype | _type", "Layout": "_layout", "Device": "_device | str | _int", "MemoryFormat": "memory_format",
         "Generator": "Generator", "str": "str", "object": "Any", "Size": "Size", "None": "None"}
OPTIONS = ("ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False")
NAMED = {}  # named tuples of the stub that is being written: fields by name
RESERVED = {"from", "lambda", "in", "is", "not"}


def split(text):
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        quoted ^= c == '"'
        if quoted:
            continue
        depth += (c in "[(") - (c in "])")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


def annotation(kind):
    """The Python type of a parameter, and whether it is a list that may be spread."""
    optional = kind.endswith("?")
    kind = kind.rstrip("?")
    sized = re.fullmatch(r"(.*?)(\?)?\[(\d*)\]", kind)
    if sized:
        inner = TYPES[sized[1]] + (" | None" if sized[2] else "")
        text = f"Sequence[{inner}]" + (f" | {inner}" if sized[3] else "")
    else:
        text = TYPES[kind]
    return text + (" | None" if optional else ""), bool(sized) and sized[1] == "int"


class Row:
    def __init__(self, signature, flags):
        head, _, tail = signature.partition("(")
        depth, end = 1, 0
        while depth:
            depth += (tail[end] == "(") - (tail[end] == ")")
            end += 1
        self.name, inside, rest = head, tail[:end - 1], tail[end:]
        self.result = rest.partition("->")[2].strip() or "Tensor"
        self.takes_out = bool(flags & 64)
        self.parameters, keyword_only = [], False
        for part in split(inside.replace("Options", OPTIONS) if re.search(r"\bOptions\b", inside) else inside):
            if part == "*":
                keyword_only = True
                continue
            if re.match(r"ScalarType\? dtype=None", part) and "Options" in inside and "ScalarType? dtype" not in inside.replace("Options", ""):
                keyword_only = True
            declared, equal, default = part.partition("=")
            kind, _, name = declared.strip().rpartition(" ")
            self.parameters.append((kind.strip(), name, default if equal else None, keyword_only))

    def result_type(self, name):
        if self.result.startswith("("):
            fields = split(self.result[1:-1])
            if all(" " in f for f in fields):
                NAMED[f"_return_{name}"] = [f.rpartition(" ")[2] for f in fields]
                return f"_return_{name}"
            return "tuple[" + ", ".join(TYPES.get(f, "Any") for f in fields) + "]"
        if self.result == "Tensor[]":
            return "tuple[Tensor, ...]"
        return annotation(self.result)[0] if self.result.rstrip("?[]") in TYPES else "Any"

    def definitions(self, name, method, writes_back):
        """The `def` lines: one, or two where a list may be spread."""
        parameters = self.parameters[1:] if method else self.parameters
        texts, spread, star = ["self"] if method else [], None, False
        positional = [p for p in parameters if not p[3]]
        for kind, argument, default, keyword_only in parameters:
            if keyword_only and not star:
                texts.append("*")
                star = True
            text, is_ints = annotation(kind)
            argument += "_" if argument in RESERVED else ""
            if is_ints and len(positional) == 1 and not keyword_only:
                spread = len(texts)
            texts.append(f"{argument}: {text}" + (f" = {default}" if default is not None else ""))
        if self.takes_out and not writes_back:
            if not star:
                texts.append("*")
            texts.append("out: Any = None")
        result = "Self" if writes_back else self.result_type(self.name)
        forms = [texts]
        if spread is not None:
            argument = texts[spread].partition(":")[0]
            forms.append(texts[:spread] + [f"*{argument}: _int"] + [t for t in texts[spread + 1:] if t != "*"])
        return [f"def {name}({', '.join(form)}) -> {result}: ..." for form in forms]


def function_text(name, callable_, method, indent=""):
    lines = []
    for signature, flags, _ in callable_.__rows__:
        row = Row(signature, flags)
        writes_back = method and name.endswith("_") and not row.name.endswith("_")
        lines += row.definitions(name, method, writes_back)
    lines = list(dict.fromkeys(lines))
    if name in RESERVED:
        return ""
    prefix = f"{indent}@overload\n" if len(lines) > 1 else ""
    return "".join(f"{prefix}{indent}{line}\n" for line in lines)


def named_tuples():
    text = "".join(f"\nclass {name}(NamedTuple):\n" + "".join(f"    {field}: Tensor\n" for field in fields) for name, fields in sorted(NAMED.items()))
    NAMED.clear()
    return text


HEADER = '''# Written by frontend/python/stubs.py from the tables' rows.
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

'''


def is_row(value):
    return hasattr(type(value), "__rows__")


def python_function(name, value, indent="", method=False):
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{indent}def {name}({'self, ' if method else ''}*args: Any, **kwargs: Any) -> Any: ...\n"
    texts = []
    star = False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not star and not any(q.kind is q.VAR_POSITIONAL for q in signature.parameters.values()):
            texts.append("*")
            star = True
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        texts.append(mark + p.name + ("" if p.name == "self" else ": Any") + (" = ..." if p.default is not p.empty else ""))
    return f"{indent}def {name}({', '.join(texts)}) -> Any: ...\n"


def tensor_text(braze):
    out = "class Tensor:\n    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...\n"
    for name, value in sorted(vars(braze.Tensor).items()):
        if name in ("__new__", "__doc__", "__module__", "__dict__", "__weakref__", "__dictoffset__", "__weakrefoffset__", "__hash__"):
            continue
        if is_row(value):
            out += function_text(name, value, True, "    ")
        elif isinstance(value, property) or inspect.isdatadescriptor(value):
            kind = {"shape": "Size", "dtype": "_dtype", "device": "_device", "layout": "_layout", "ndim": "_int", "itemsize": "_int", "nbytes": "_int",
                    "_version": "_int", "T": "Tensor", "mT": "Tensor", "H": "Tensor", "mH": "Tensor"}.get(name, "Any")
            out += f"    @property\n    def {name}(self) -> {kind}: ...\n"
        elif isinstance(value, staticmethod):
            out += "    @staticmethod\n" + python_function(name, value.__func__, "    ")
        elif inspect.isfunction(value):
            out += python_function(name, value, "    ", True)
        elif callable(value):
            out += slot_text(name, value)
        else:
            out += f"    {name}: {'builtins.' + type(value).__name__ if type(value) in (int, float, str, bool) else 'Any'}\n"
    return out + "    __hash__: Any\n"


def slot_text(name, value):
    if name in ("__eq__", "__ne__"):
        return f"    def {name}(self, value: Any, /) -> Any: ...\n"
    result = {"__bool__": "_bool", "__int__": "_int", "__float__": "_float", "__index__": "_int", "__len__": "_int", "__repr__": "str",
              "__iter__": "Any", "__setitem__": "None", "__delitem__": "None", "__setattr__": "None", "__delattr__": "None", "item": "Any",
              "__getattribute__": "Any"}.get(name, "Tensor")
    if name in ("__getattribute__",):
        return ""
    signature = getattr(value, "__text_signature__", None)
    if signature is None:
        return f"    def {name}(self) -> {result}: ...\n"
    names = [p.strip() for p in signature.strip("()").split(",") if p.strip() not in ("", "$self", "self", "/")]
    texts = ["self"] + [n.replace("=None", "").strip() + ": Any" + (" = None" if "=" in n else "") for n in names]
    return f"    def {name}({', '.join(texts)}, /) -> {result}: ...\n"


def module_text(module, space, names):
    out = ""
    for name in sorted(names):
        value = getattr(module, name)
        if is_row(value):
            out += function_text(name, value, False)
        elif inspect.isfunction(value):
            out += python_function(name, value)
        elif inspect.isclass(value):
            out += class_text(name, value)
        elif isinstance(value, (int, float, str)):
            out += f"{name}: {'str' if isinstance(value, str) else '_' + type(value).__name__}\n"
        elif inspect.ismodule(value):
            continue
        elif value is None:
            out += f"{name}: None\n"
        else:
            kind = type(value).__name__
            out += f"{name}: {'_' + kind if kind in ('dtype', 'layout') else kind if kind == 'memory_format' else 'Any'}\n"
    return out


def class_text(name, value):
    bases = ", ".join(b.__name__ for b in value.__bases__ if b.__module__ == "builtins" and b is not object)
    return f"class {name}{f'({bases})' if bases else ''}:\n    def __getattr__(self, name: str) -> Any: ...\n    def __init__(self, *args: Any, **kwargs: Any) -> None: ...\n"


def main(folder):
    import braze
    aliases = ("import builtins\nfrom typing_extensions import Self\n\nfrom . import cuda as cuda, linalg as linalg, random as random, special as special\n\n"
               "_int = builtins.int\n_float = builtins.float\n_bool = builtins.bool\n_type = builtins.type\n_dtype = dtype\n_device = device\n_layout = layout\nNumber = builtins.int | builtins.float | builtins.bool | builtins.complex\n\n")
    public = [n for n in vars(braze) if not n.startswith("_") and n != "Tensor"]
    text = HEADER + aliases + module_text(braze, "", public) + "\n" + tensor_text(braze) + named_tuples() + "\ndef __getattr__(name: str) -> Any: ...\n"
    outputs = {"__init__.pyi": text}
    for path, name in (("linalg.pyi", "linalg"), ("special.pyi", "special"), ("nn/functional.pyi", "nn.functional")):
        module = __import__("braze." + name, fromlist=["x"])
        names = [n for n in vars(module) if not n.startswith("_")]
        dots = "." * (name.count(".") + 1)
        top = HEADER + f"from {dots} import Generator, Number, Size, Tensor, _bool, _device, _dtype, _float, _int, _layout, _type, memory_format\n\n"
        outputs[path] = top + module_text(module, name, names) + named_tuples()
    for path, text in outputs.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
