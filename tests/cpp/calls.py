"""The rows of calls.txt: recorded from PyTorch, turned into C++, checked against the public headers.

    python calls.py record                 with PyTorch: writes calls.json
    python calls.py generate FOLDER PARTS  writes FOLDER/calls_0.cpp, ... from calls.txt
    python calls.py check                  names what is public and has fewer rows than overloads

Only `record` needs PyTorch.
"""
import collections
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import public_names  # noqa: E402

ROWS, RECORDED = os.path.join(HERE, "calls.txt"), os.path.join(HERE, "calls.json")
# PyTorch's spelling of what C++ names otherwise.
PYTHON_SPELLING = {
    "frexp_mantissa": "frexp({})[0]", "frexp_exponent": "frexp({})[1].to(float32)", "trunc_divide": "div({}, rounding_mode='trunc')",
    "greatest_divisor": "gcd({})", "shift_left": "bitwise_left_shift({})", "shift_right": "bitwise_right_shift({})"}


# ---------------------------------------------------------------- rows

class Row:
    def __init__(self, cpp, python, inputs):
        self.cpp, self.python = cpp, python
        head = operation(cpp, inputs)
        self.operation = head
        # What an in-place operation has to have changed.
        target = re.match(r"\w+", cpp[cpp.index("(") + 1:] if re.match(r"[\w:]+_\(", cpp) else cpp)
        self.target = target[0] if head.endswith("_") and target else None


def to_cpp(python):
    """The C++ text of a Python expression that differs in punctuation only."""
    text = re.sub(r"\bdtype=(\w+)", r"{\1}", python)
    text = re.sub(r"\b[a-z]\w*=(?!=)", "", text)
    text = re.sub(r"'([^']*)'", r'"\1"', text)
    for old, new in (("[", "{"), ("]", "}"), ("nn.functional.", "nn::functional::"), ("linalg.", "linalg::"), ("special.", "special::")):
        text = text.replace(old, new)
    for old, new in (("True", "true"), ("False", "false"), ("None", "none")):
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def split_arguments(text):
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return parts + [text[start:].strip()]


def as_method(call):
    """f(x, y) as x.f(y)."""
    name, _, rest = call.partition("(")
    arguments = split_arguments(rest.rstrip()[:-1])
    return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"


def in_place(call):
    name, _, rest = call.partition("(")
    return f"{name}_({rest}"


def expand(line):
    """The calls of a line: (C++, Python)."""
    family = re.match(r"(unary|binary) ([\w ]+): (.*)", line)
    if family:
        operands = family[2].split()
        for name in family[3].split():
            # PyTorch has it as a function, in torch.special, or as a method only; what it has not in place is a copy_.
            value = PYTHON_SPELLING.get(name, name + "({})").format(", ".join(operands))
            changed, rest = operands[0], ", ".join(operands[1:])
            yield (f"{name}({', '.join(operands)})", value)
            yield (f"{changed}.{name}({rest})", value)
            yield (f"{changed}.{name}_({rest})", f"{changed}.copy_({value})")
            yield (f"{name}_({', '.join(operands)})", f"{changed}.copy_({value})")
        return
    mark = re.match(r"(\*_?|_) ", line)
    line = line[mark.end():] if mark else line
    cpp, arrow, python = line.partition(" <- ")
    cpp = re.sub(r"\b(linalg|special)\.", r"\1::", cpp.replace("nn.functional.", "nn::functional::")) if arrow else to_cpp(cpp)
    python = python if arrow else line
    mark = mark[1] if mark else ""
    if mark != "_":
        yield (cpp, python)
    if "*" in mark:
        yield (as_method(cpp), python)
    if mark == "*_":
        yield (as_method(in_place(cpp)), as_method(in_place(python)))
    if mark == "_":
        change = python if arrow else as_method(in_place(python))
        yield (in_place(cpp), change)
        yield (as_method(in_place(cpp)), change)


def read():
    inputs, rows, exempt = {}, [], {}
    with open(ROWS, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip()
            given = re.match(r"input (\w+) = (.*)", line)
            if given:
                inputs[given[1]] = given[2]
            elif line.startswith("not an operation: "):
                names, _, why = line.partition(": ")[2].partition("#")
                exempt.update({name: why.strip() for name in names.split()})
            elif line and not line.startswith("#"):
                rows += [Row(cpp, python, inputs) for cpp, python in expand(line)]
    return inputs, rows, exempt


# ---------------------------------------------------------------- which operation a row calls

def matching(text, at):
    """Where the bracket at `at` closes."""
    depth = 0
    while True:
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
        at += 1


def operation(cpp, inputs=()):
    """The public name of what a C++ expression calls last: f, linalg::f, Tensor.f, operator+, Tensor.operator+=."""
    cpp = split_arguments(cpp)[0]
    cast = re.match(r"static_cast<([^<>]*)>\(", cpp)
    if cast and matching(cpp, cast.end() - 1) == len(cpp) - 1:
        inside = cpp[cast.end():-1]
        return "Tensor.operatorbool" if cast[1] == "bool" else operation(inside, inputs)
    if re.match(r"[-~]\w+$", cpp):
        return "operator" + cpp[0]
    binary = re.match(r"\w+ ([^\w\s(]+) \w+", cpp)
    if binary:
        change = binary[1] not in ("==", "!=", "<=", ">=") and binary[1].endswith("=")
        return ("Tensor." if change else "") + "operator" + binary[1]
    cpp = re.sub(r"\.\w+$", "", cpp)  # a field of the result
    called = re.match(r"([\w:]+)\(", cpp)
    if called and matching(cpp, called.end() - 1) == len(cpp) - 1:
        return "Tensor.operator()" if called[1] in inputs else called[1]
    depth, last = 0, None
    for at, c in enumerate(cpp):
        if depth == 0:
            method = re.match(r"\.(\w+)(<\w+>)?\(", cpp[at:])
            last = method[1] if method else last
        depth += (c in "([{") - (c in ")]}")
    return "Tensor." + (last or "operator()")


def overloads(declarations):
    """How many forms a name has: {a, b} and a span are one, and so is a second name by `using`."""
    return len([d for d in declarations if not re.search(r"initializer_list|TensorList|^using|std :: ostream", d)]) or 1


def uncalled():
    """Public operations with fewer rows than overloads, as {name: (rows, overloads)}; and excuses for what is not public."""
    _, rows, exempt = read()
    called = collections.Counter(row.operation for row in rows)
    names = public_names.names()
    # Classes that are no Tensor have tests of their own; of modules each has a row that makes one.
    public = {name: overloads(declared) for name, declared in names.items()
              if ("." not in name or name.startswith("Tensor.")) and not re.match(r"(class|struct)\b", declared[0])}
    handles = {name for name, declared in names.items() if declared[0] == "handle"}
    called.update(handles.intersection(re.findall(r"\bnn::\w+", "\n".join(row.cpp for row in rows))))
    missing = {name: (called[name], forms) for name, forms in sorted(public.items()) if called[name] < forms and name not in exempt}
    return missing, sorted(set(exempt) - set(public))


# ---------------------------------------------------------------- recording

def trained(optimizer, x, **settings):
    """calls.h's: a parameter and the optimizer's state after four steps."""
    p = x.clone().requires_grad_()
    o = optimizer([p], **settings)
    for _ in range(4):
        o.zero_grad()
        (p ** 3 / 3 + p * p).sum().backward()
        o.step()
    return [p.detach(), *(value for _, value in sorted(o.state[p].items()) if hasattr(value, "shape"))]


def settings(optimizer):
    import torch
    return repr(optimizer([torch.zeros(1, requires_grad=True)]))


def rates(scheduler, **options):
    """calls.h's: the rates of twelve epochs."""
    import torch
    o = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
    s = scheduler(o, **options)
    all_of_them = []
    for _ in range(12):
        all_of_them.append(s.get_last_lr()[0])
        o.step()
        s.step()
    return all_of_them

def record():
    import torch
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), "conformance"))
    import run
    inputs, rows, _ = read()
    space = dict(vars(torch), inf=float("inf"), nan=float("nan"), bool=bool, float=float, int=int)
    space.update(nn=torch.nn, linalg=torch.linalg, special=torch.special, optim=torch.optim)
    space.update(trained=trained, rates=rates, settings=settings, repr=repr, OrderedDict=collections.OrderedDict)
    originals = {}
    for name, text in inputs.items():
        originals[name] = eval(text, dict(space, **originals))

    def neutral(x):
        if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
            return ["tuple", [neutral(item) for item in x]]
        form = run.neutral(torch, x)
        return form + [list(x.stride())] if isinstance(x, torch.Tensor) else form

    def call(row):
        values = {name: x.clone(memory_format=torch.preserve_format) for name, x in originals.items()}
        names = dict(space, **values)
        torch.manual_seed(1234)
        change = re.match(r"(\w+) (\S+)= ", row.python)
        if change and change[2] not in ("=", "!", "<", ">"):
            exec(row.python, names)
            return neutral(names[change[1]])
        operator_or_call = row.python
        try:
            result = eval(operator_or_call, names)
        except (NameError, TypeError, AttributeError):
            # A name that is only in torch.special, or only a method.
            result = eval(re.sub(r"^(\w+\.copy_\()?(\w+)\(", r"\1special.\2(", operator_or_call), names)
        return neutral((result, names[row.target])) if row.target else neutral(result)

    recorded, failed = {}, 0
    for row in rows:
        try:
            recorded[row.cpp] = call(row)
        except Exception as e:  # a row that PyTorch refuses is a mistake in calls.txt
            failed += 1
            print(f"{row.python}: {type(e).__name__}: {str(e)[:300]}")
    held = {name: neutral(x) for name, x in originals.items()}
    with open(RECORDED, "w", encoding="utf-8") as file:
        file.write('{"torch": %s,\n"inputs": {\n' % json.dumps(torch.__version__))
        file.write(",\n".join(f"{json.dumps(k)}: {json.dumps(run.to_json(v))}" for k, v in held.items()))
        file.write('},\n"calls": {\n')
        file.write(",\n".join(f"{json.dumps(k)}: {json.dumps(run.to_json(v))}" for k, v in recorded.items()))
        file.write("}}\n")
    print(f"{len(recorded)} calls recorded, {failed} refused")
    return failed > 0


# ---------------------------------------------------------------- C++

HEAD = """// Written by tests/cpp/calls.py from tests/cpp/calls.txt.
#include "tests/cpp/calls.h"

namespace braze::recorded {

namespace {

struct Inputs {
%s};

struct Calls : Inputs {
"""


def generate(folder, parts):
    inputs, rows, _ = read()
    held = "".join(f'  Tensor {name} = input("{name}");\n' for name in inputs)
    for part in range(parts):
        mine = list(enumerate(rows))[part::parts]
        body = "".join(
            f"  Value call_{n}() {{ return {f'with({row.target}, ({row.cpp}))' if row.target else f'value_of(({row.cpp}))'}; }}\n"
            for n, row in mine)
        table = "".join(f"    {{{json.dumps(row.cpp)}, [] {{ return Calls().call_{n}(); }}}},\n" for n, row in mine)
        text = HEAD % held + body + "};\n\nconst Call calls[] = {\n" + table + "};\nconst Register registered(calls);\n\n}  // namespace\n\n}  // namespace braze::recorded\n"
        with open(os.path.join(folder, f"calls_{part}.cpp"), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


def check():
    missing, stale = uncalled()
    for name, (rows, forms) in missing.items():
        print(f"{name} has {forms} public forms, and {rows} rows of tests/cpp/calls.txt call it")
    for name in stale:
        print(f"{name} is said to be no operation in tests/cpp/calls.txt, and is not public")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "record":
        sys.exit(record())
    if command == "generate":
        sys.exit(generate(sys.argv[2], int(sys.argv[3])))
    if command == "check":
        sys.exit(check())
    sys.exit(__doc__)
