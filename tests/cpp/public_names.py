"""What the public C++ headers declare: `python3 public_names.py` lists it.

names() gives a dict from a qualified name (`exp`, `linalg::inv`, `Tensor.exp_`) to its declarations. A module's class goes by its handle's name
(`nn::Linear`), declared as "handle". The headers go through the compiler's preprocessor, so what the macros of the op table declare is there
too.
"""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = ("braze", "nn", "optim", "optim/schedulers", "data")
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|::|->|\d[\w.]*|\S')


def preprocessed():
    """The text that comes from Braze's own public headers, macros expanded."""
    headers = os.path.join(ROOT, "frontend", "include")
    text = subprocess.run([os.environ.get("CXX", "c++"), "-E", "-std=c++20", "-I", headers, "-I", ROOT, "-x", "c++", "-w", "-"], check=True,
                          input="".join(f'#include "braze/{header}.h"\n' for header in HEADERS), stdout=subprocess.PIPE, text=True).stdout
    kept, ours = [], False
    for line in text.split("\n"):
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            path = os.path.normpath(marker[1])
            ours = os.sep + os.path.join("include", "braze") + os.sep in path or path.endswith("ops.def")
        elif ours:
            kept.append(line)
    return "\n".join(kept)


def statements(tokens, at):
    """Statements up to the closing brace: (tokens, where its braced body begins or None); returns where it ended."""
    found, current, depth = [], [], 0
    while at < len(tokens):
        token = tokens[at]
        if token == "{" and depth == 0 and not (current and current[-1] in ("=", ",", "(")):
            found.append((current, at + 1))
            at, current = skip(tokens, at + 1), []
            continue
        if token == "}" and depth == 0:
            return found, at
        if token == ";" and depth == 0:
            if current:
                found.append((current, None))
            current = []
        elif token == ":" and depth == 0 and current and current[-1] in ("public", "private", "protected"):
            found.append(([current[-1], ":"], None))
            current = []
        else:
            depth += (token in "([{") - (token in ")]}")
            current.append(token)
        at += 1
    return found, at


def skip(tokens, at):
    """Past the brace that closes what was opened before `at`."""
    depth = 1
    while depth:
        depth += (tokens[at] == "{") - (tokens[at] == "}")
        at += 1
    return at


def declared_name(statement):
    """The function that a statement declares, or None."""
    if "operator" in statement:
        at = statement.index("operator") + 1
        if statement[at - 2] == "::":
            return None
        end = statement.index("(", at + (statement[at] == "("))
        return "operator" + "".join(statement[at:end])
    depth = 0
    for i, token in enumerate(statement):
        if token == "(" and depth == 0 and i > 0:
            before = statement[i - 1]
            if before == "requires" or not re.match(r"[A-Za-z_]\w*$", before):
                depth += 1
                continue
            if statement[max(i - 2, 0)] == "::":
                return None  # a member defined outside its class
            return before if i > 1 else None  # a constructor has no type before its name
        depth += (token in "([{<") - (token in ")]}>")
    return None


def without_template(statement):
    """A template's head and its requirements say nothing about the name."""
    if statement and statement[0] == "template":
        depth = 0
        for i, token in enumerate(statement[1:], 1):
            depth += (token == "<") - (token == ">")
            if depth == 0:
                statement = statement[i + 1:]
                break
    if statement and statement[0] == "requires":
        depth = 0
        for i, token in enumerate(statement[1:], 1):
            depth += (token in "(<") - (token in ")>")
            if depth == 0 and token in ")>":
                statement = statement[i + 1:]
                break
    return statement


class Reader:
    def __init__(self):
        self.found = {}
        text = re.sub(r"^\s*#.*$", "", preprocessed(), flags=re.M)
        self.tokens = TOKEN.findall(text)

    def add(self, scope, name, statement):
        self.found.setdefault(scope + name, []).append(" ".join(statement))

    def namespace(self, at, scope):
        for statement, body in statements(self.tokens, at)[0]:
            if statement[:1] == ["extern"] and body is not None and len(statement) == 2:
                continue
            if statement[:1] == ["inline"] and "namespace" in statement:
                statement = statement[1:]
            if statement[:1] == ["namespace"] and body is not None:
                inner = [t for t in statement[1:] if t != "::"]
                if inner == ["detail"] or inner == ["std"] or inner == ["fmt"]:
                    continue
                parts = inner[1:] if scope == "" and inner[:1] == ["braze"] else inner
                self.namespace(body, scope + "".join(part + "::" for part in parts))
                continue
            if statement[:1] == ["using"] and "=" not in statement:
                for target in " ".join(statement).split(" , "):
                    self.add(scope, target.split()[-1], statement)
                continue
            statement = without_template(statement)
            if statement[:1] == ["using"] and "ModuleHolder" in statement[:4]:
                self.add(scope, statement[1], ["handle"])
                continue
            if statement[:1] in (["class"], ["struct"]):
                if body is not None:
                    name = next(t for t in statement[1:] if re.match(r"\w+$", t))
                    self.members(body, name, statement[0] == "struct")
                    if not name.endswith("Methods"):
                        self.add(scope, name, statement)
                continue
            if statement[:1] in (["enum"], ["using"], ["concept"], ["friend"], ["static_assert"]):
                continue
            name = declared_name(statement)
            if name:
                self.add(scope, name, statement)
            elif "constexpr" in statement:
                for constant in re.findall(r"(\w+) =", " ".join(statement)):
                    self.add(scope, constant, statement)

    def members(self, at, name, public):
        scope = ("Tensor" if name.endswith("Methods") else name) + "."
        for statement, _ in statements(self.tokens, at)[0]:
            if statement[1:] == [":"]:
                public = statement[0] == "public"
                continue
            statement = without_template(statement)
            if not public or statement[:1] in (["using"], ["struct"], ["class"], ["enum"]) or not statement:
                continue
            function = declared_name(statement)
            if function and "~" not in statement and function != name:
                self.add(scope, function, statement)


def names():
    reader = Reader()
    reader.namespace(0, "")
    return reader.found


if __name__ == "__main__":
    for name, declarations in sorted(names().items()):
        print(name, len(declarations))
