"""Writes the package's type stubs from the tables' rows: python stubs.py FOLDER, with braze importable.

One stub for each module that has rows or what stands for them: braze/__init__.pyi has Tensor with its methods and torch's functions,
linalg.pyi, special.pyi, nn/functional.pyi and nn/init.pyi theirs, return_types.pyi the named tuples. The other modules are written in Python and are their
own stubs. Parameters of what is written in Python come from its signatures and annotations.
"""
import builtins
import importlib
import inspect
import os
import re
import sys

# The package beside this file has no extension; the built one is meant.
sys.path[:] = [p for p in sys.path if os.path.realpath(p or ".") != os.path.dirname(os.path.realpath(__file__))]

TYPES = {"Tensor": "Tensor", "Tensor|Scalar": "Tensor | _Number", "Scalar": "_Number", "int": "_int", "float": "_float", "bool": "_bool",
         "ScalarType": "_dtype | _type", "Layout": "_layout", "Device": "_device | str | _int", "MemoryFormat": "memory_format",
         "Generator": "Generator", "str": "str", "object": "Any", "Size": "Size", "None": "None"}
OPTIONS = ("ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False")
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

    def fields(self):
        """The names of a named tuple's fields; none for other results."""
        fields = split(self.result[1:-1]) if self.result.startswith("(") else []
        return [f.rpartition(" ")[2] for f in fields] if all(" " in f for f in fields) else []

    def result_type(self, space):
        if self.result.startswith("("):
            fields = split(self.result[1:-1])
            if self.fields():
                return f"return_types.{'linalg_' if space == 'linalg' else ''}{self.name}"
            return "tuple[" + ", ".join(TYPES.get(f, "Any") for f in fields) + "]"
        if self.result == "Tensor[]":
            return "tuple[Tensor, ...]"
        return annotation(self.result)[0] if self.result.rstrip("?[]") in TYPES else "Any"

    def definitions(self, name, method, writes_back, space):
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
        result = "Self" if writes_back else self.result_type(space)
        forms = [texts]
        if spread is not None:
            argument = texts[spread].partition(":")[0]
            forms.append(texts[:spread] + [f"*{argument}: _int"] + [t for t in texts[spread + 1:] if t != "*"])
        return [f"def {name}({', '.join(form)}) -> {result}: ..." for form in forms]


def function_text(name, callable_, method, indent="", space=""):
    lines = []
    for signature, flags, _ in callable_.__rows__:
        row = Row(signature, flags)
        writes_back = method and name.endswith("_") and not row.name.endswith("_")
        lines += row.definitions(name, method, writes_back, space)
    lines = list(dict.fromkeys(lines))
    if name in RESERVED:
        return ""
    prefix = f"{indent}@overload\n" if len(lines) > 1 else ""
    return "".join(f"{prefix}{indent}{line}\n" for line in lines)


HEADER = '''# Written by frontend/python/stubs.py from the tables' rows.
import builtins
from collections.abc import Sequence
from typing import Any, Final, SupportsIndex, overload
from typing_extensions import Self, disjoint_base, final

'''
# What the name of a builtin means inside modules and classes that have a dtype or a method of that name.
NAMES = '''_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_type = builtins.type
_dtype = dtype
_device = device
_layout = layout
_Number = builtins.int | builtins.float | builtins.bool | builtins.complex
class _Meta(builtins.type): ...

'''
# Of attributes and slots that C++ makes, and of properties: no signature tells.
ATTRIBUTES = {"shape": "Size", "dtype": "_dtype", "device": "_device", "layout": "_layout", "ndim": "_int", "itemsize": "_int", "nbytes": "_int",
              "_version": "_int", "names": "tuple[None, ...]", "requires_grad": "_bool", "is_leaf": "_bool", "grad": "Tensor | None",
              "_base": "Tensor | None", "is_floating_point": "_bool", "is_complex": "_bool", "is_signed": "_bool",
              **dict.fromkeys(("T", "mT", "H", "mH", "real", "imag", "data"), "Tensor"),
              **dict.fromkeys(("is_cpu", "is_cuda", "is_meta", "is_mkldnn", "is_mps", "is_nested", "is_quantized", "is_sparse", "is_xpu"), "_bool")}
SLOTS = {"__bool__": "_bool", "__int__": "_int", "__float__": "_float", "__index__": "_int", "__len__": "_int", "__repr__": "str", "__iter__": "Any",
         "__setitem__": "None", "__delitem__": "None", "__setattr__": "None", "__delattr__": "None", "item": "Any", "__eq__": "Any", "__ne__": "Any",
         "numel": "_int", "__reduce__": "Any", "to_real": "_dtype", "__copy__": "Self", "__deepcopy__": "Self"}
HEAP_TYPE, BASE_TYPE = 1 << 9, 1 << 10  # Py_TPFLAGS_...
SKIPPED = ("__new__", "__doc__", "__module__", "__dict__", "__weakref__", "__dictoffset__", "__weakrefoffset__", "__hash__", "__getattribute__",
           "__slots__", "__annotations__", "__match_args__", "__qualname__", "__firstlineno__", "__static_attributes__")


def is_row(value):
    return hasattr(type(value), "__rows__")


def annotated(annotation, default="Any"):
    if annotation is inspect.Parameter.empty:
        return default
    if isinstance(annotation, str):
        return annotation.replace("_braze.", "")
    if annotation is None:
        return "None"
    return {int: "_int", float: "_float", builtins.bool: "_bool"}.get(annotation, annotation.__name__)


def nanobind_function(name, value, indent):
    """nanobind says the signature, with `object` for what it does not know."""
    text = re.sub(r"\\\d+", "...", value.__nb_signature__[0][0])
    text = re.sub(r"\bint\b", "_int", re.sub(r"-> object$", "-> Any", text))
    results = {"get_state": "Tensor", "manual_seed": "Generator", "clone_state": "Generator"}
    if name in results:
        text = text.partition(" ->")[0] + f" -> {results[name]}"
    return f"{indent}{text}: ...\n".replace(": object", ": Any")


def python_function(name, value, indent="", method=False):
    if hasattr(value, "__nb_signature__"):
        return nanobind_function(name, value, indent)
    signature = inspect.signature(value)
    texts, star = [], any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    parameters = list(signature.parameters.values())
    for i, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and not star:
            texts.append("*")
            star = True
        mark = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        kind = "" if i == 0 and method else ": " + annotated(p.annotation)
        texts.append(mark + p.name + kind + (" = ..." if p.default is not p.empty else ""))
        if p.kind is p.POSITIONAL_ONLY and (i + 1 == len(parameters) or parameters[i + 1].kind is not p.POSITIONAL_ONLY):
            texts.append("/")
    result = {"__init__": "None"}.get(name) or SLOTS.get(name) or annotated(signature.return_annotation)
    return f"{indent}def {name}({', '.join(texts)}) -> {result}: ...\n"


def slot_text(cls, name, value):
    """A method that C++ made."""
    signature = getattr(value, "__text_signature__", None)
    if signature is None:
        signature = "($self, memo, /)" if name == "__deepcopy__" else "($self, /)"
    names = [p.strip() for p in signature.strip("()").split(",") if p.strip() not in ("", "$self", "self", "/")]
    texts = ["self"] + [n.replace("=None", "").strip() + ": Any" + (" = None" if "=" in n else "") for n in names]
    if cls.__name__ == "Size" and name == "__getitem__":
        return ("    @overload\n    def __getitem__(self, key: SupportsIndex, /) -> _int: ...\n"
                "    @overload\n    def __getitem__(self, key: slice, /) -> Size: ...\n")
    result = SLOTS.get(name) or {"Tensor": "Tensor", "Size": "Size"}.get(cls.__name__, "Any")
    return f"    def {name}({', '.join(texts)}, /) -> {result}: ...\n"


def member_text(cls, name, value):
    if is_row(value):
        return function_text(name, value, True, "    ")
    if isinstance(value, property) or inspect.isdatadescriptor(value):
        text = f"    @property\n    def {name}(self) -> {ATTRIBUTES.get(name, 'Any')}: ...\n"
        if getattr(value, "fset", None):
            text += f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n"
        return text
    if isinstance(value, staticmethod):
        return "    @staticmethod\n" + python_function(name, value.__func__, "    ")
    if inspect.isfunction(value) or hasattr(value, "__nb_signature__"):
        static = type(value).__name__ == "nb_func"  # nanobind's staticmethod
        return ("    @staticmethod\n" if static else "") + python_function(name, value, "    ", not static)
    if callable(value) and not inspect.isclass(value):
        return slot_text(cls, name, value)
    return f"    {name}: {'builtins.' + type(value).__name__ if type(value) in (int, float, str, bool) else ATTRIBUTES.get(name, 'Any')}\n"


def class_text(name, cls):
    """A class with what its body has; private members are left out, but for the protocols."""
    bases = [b.__name__ if b.__module__ == "builtins" else b.__module__ + "." + b.__name__ for b in cls.__bases__ if b is not object]
    bases = ["tuple[_int, ...]" if b == "tuple" else b.replace("braze.", "") for b in bases if not b.rpartition(".")[2].startswith("_")]
    out = "" if cls.__flags__ & BASE_TYPE else "@final\n"
    # What lays out its instances in C; two pointers more are those to the dict and the weak references.
    if not bases and cls.__flags__ & HEAP_TYPE and cls.__basicsize__ > object.__basicsize__ + 16:
        out += "@disjoint_base\n"
    if type(cls) is not type:
        bases.append("metaclass=_Meta")
    out += f"class {name}{'(' + ', '.join(bases) + ')' if bases else ''}:\n"
    if "__new__" in vars(cls):
        new = vars(cls)["__new__"]
        out += "    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...\n" if not isinstance(new, staticmethod) else python_function(
            "__new__", new.__func__, "    ", True).replace("-> Any", "-> Self")
    for member, value in sorted(vars(cls).items()):
        if member in SKIPPED or member.startswith("_") and not member.endswith("__") and not inspect.isdatadescriptor(value):
            continue
        out += member_text(cls, member, value)
    if vars(cls).get("__hash__", 0) is None:
        out += "    __hash__: Any\n"
    return out + "    ...\n"


def module_text(module, space, names):
    out = ""
    for name in sorted(names):
        value = getattr(module, name)
        if is_row(value):
            out += function_text(name, value, False, space=space)
        elif inspect.isfunction(value) or hasattr(value, "__nb_signature__"):
            out += python_function(name, value)
        elif inspect.isclass(value) and value.__name__ != name:
            out += f"{name} = {value.__name__}\n"
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
            out += f"{name}: {'_' + kind if kind in ('dtype', 'layout') else kind if kind in ('memory_format', 'Generator') else 'Any'}\n"
    return out


def return_types_text(braze):
    fields = {}
    for space, functions in braze._braze._functions.items():
        for function in functions.values():
            for row in (Row(signature, flags) for signature, flags, _ in function.__rows__):
                if row.fields():
                    fields[("linalg_" if space == "linalg" else "") + row.name] = row.fields()
    text = "__all__ = [" + ", ".join(f'"{name}"' for name in sorted(fields)) + "]\nall_return_types: list[_type]\n\n"
    for name, names in sorted(fields.items()):
        text += (f"@final\nclass {name}(tuple[{', '.join(['Tensor'] * len(names))}]):\n    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...\n"
                 f"    n_fields: Final[_int]\n    n_sequence_fields: Final[_int]\n    n_unnamed_fields: Final[_int]\n    __match_args__ = {tuple(names)!r}\n"
                 "    def __reduce__(self, /) -> Any: ...\n")
        text += "".join(f"    @property\n    def {field}(self) -> Tensor: ...\n" for field in names)
    return text


def main(folder):
    import braze
    modules = ("cuda", "linalg", "random", "return_types", "special")
    public = [n for n in vars(braze) if not n.startswith("_") and n not in modules]
    text = HEADER + f"from . import {', '.join(f'{m} as {m}' for m in modules)}\n\n" + NAMES + module_text(braze, "", public)
    # Absent names raise; a program that asks for one with hasattr is no mistake.
    outputs = {"__init__.pyi": text + "__version__: str\ndef __dir__() -> list[str]: ...\ndef __getattr__(name: str) -> Any: ...\n"}
    for path, name in (("linalg.pyi", "linalg"), ("special.pyi", "special"), ("nn/functional.pyi", "nn.functional"), ("nn/init.pyi", "nn.init")):
        module = importlib.import_module("braze." + name)
        dots = "." * (name.count(".") + 1)
        top = HEADER + (f"from {dots} import Generator, Size, Tensor, _bool, _device, _dtype, _float, _int, _layout, _Number, _type, memory_format, return_types\n\n"
                        f"__all__ = [{', '.join(repr(n) for n in module.__all__)}]\n")
        outputs[path] = top + module_text(module, name, module.__all__) + "def __getattr__(name: str) -> Any: ...\n"
    outputs["return_types.pyi"] = HEADER + "from . import Tensor, _int, _type\n\n" + return_types_text(braze) + "def __dir__() -> list[str]: ...\ndef __getattr__(name: str) -> Any: ...\n"
    for path, text in outputs.items():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
