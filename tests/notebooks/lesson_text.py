"""What a lesson tells its reader to type: commands, keys, calls and variables, from its prose and from its code.

Code within code counts too: a lesson keeps programs for other processes, and TOML, in strings.
"""

import ast
import re
import tomllib
from dataclasses import dataclass

import nbformat

IMPORT = re.compile(r"^\s*(import|from) \w", re.MULTILINE)


@dataclass(frozen=True)
class Call:
    """A call as written: `text`, and the dotted name of what it calls as far as imports tell; an instance counts as
    its class. `is_open` where * or ** passes more than can be read."""

    text: str
    name: str
    positional: int
    keywords: tuple
    is_open: bool


class Lesson:
    """One notebook, read."""

    def __init__(self, path):
        cells = nbformat.read(path, 4).cells
        self.markdown = [cell.source for cell in cells if cell.cell_type == "markdown"]
        self.code = [cell.source for cell in cells if cell.cell_type == "code"]
        self.trees = [tree for source in self.code for tree in programs(source)]
        self.names = {}          # what the notebook's own cells have imported or made
        for source in self.code:
            learn(ast.parse(source), self.names)

    def quoted(self):
        return [code for text in self.markdown for code in quoted(text)]

    def calls(self, known=()):
        """Yield every Call whose name can be told; `known` are dotted names that prose may write without an import."""
        for tree in self.trees:
            names = dict(self.names)
            learn(tree, names)
            yield from calls(tree, names)
        names = {name.rpartition(".")[2]: name for name in known} | self.names
        for code in self.quoted():
            if tree := expression(code):
                yield from calls(tree, names)

    def commands(self):
        """Yield commands as lines: of the prose, and those that code hands to a main()."""
        yield from self.quoted()
        for tree in self.trees:
            for node in ast.walk(tree):
                words = node.args[0] if isinstance(node, ast.Call) and node.args else getattr(node, "value", None)
                if not isinstance(words, ast.List) or not words.elts:
                    continue
                line = " ".join(word.value for word in words.elts if isinstance(getattr(word, "value", None), str))
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "sys.argv":
                    yield line
                elif isinstance(node, ast.Call) and ast.unparse(node.func) == "main":
                    yield f"fp8lab {line}"

    def toml_keys(self):
        """Yield (table, key) of every TOML text, and (None, key) of every single line of TOML."""
        in_code = [text for tree in self.trees for text in strings(tree) if not IMPORT.search(text)]
        for text in [*self.quoted(), *in_code]:
            for line in text.splitlines():
                if table := re.fullmatch(r"\[([a-z][\w.-]*)\]", line):
                    yield table[1], None
                if key := re.fullmatch(r'([a-z][\w-]*) = (".*"|\[.*|\{.*|\d+|true|false)', line):
                    yield None, key[1]
            try:
                content = tomllib.loads(text) if re.search(r"^\[", text, re.MULTILINE) else {}
            except tomllib.TOMLDecodeError:
                continue
            yield from keys(content)

    def variables(self):
        text = "\n".join([*self.markdown, *self.code])
        return set(re.findall(r"\b(?:HF|KERNELS|HUGGINGFACE)_[A-Z_]+\b|\bLOCAL_KERNELS\b", text))


def quoted(markdown):
    """Yield what stands in backticks and in shell blocks. Of a table that begins with "old", the first column is what
    no longer works, and is left out."""
    lines, in_old_table = [], False
    for line in markdown.splitlines():
        in_old_table = line.startswith("|") and (in_old_table or line.startswith("| old "))
        lines.append(line.split("|", 2)[2] if in_old_table else line)
    text = "\n".join(lines)
    for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", text, re.DOTALL):
        yield from block.splitlines()
    yield from re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def retired(markdown):
    """Return the first columns of tables that begin with "old"."""
    tables = re.findall(r"^\| old .*\n(?:\|.*\n?)+", markdown, re.MULTILINE)
    return "\n".join(row.split("|")[1] for table in tables for row in table.splitlines())


def expression(code):
    """Return the tree of a call in prose, where … stands for arguments left out, or None."""
    try:
        return ast.parse(code.replace("…", "..."), mode="eval")
    except SyntaxError:
        return None


def programs(source):
    """Yield the tree of a piece of code, and those of the programs in its strings."""
    tree = ast.parse(source)
    yield tree
    for text in strings(tree):
        if IMPORT.search(text):
            try:
                yield ast.parse(text)
            except SyntaxError:
                continue


def strings(tree):
    """Yield every string in a tree; in an f-string, a string stands for each value."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "'_'" if part.conversion == 114 else "_"
                          for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def learn(tree, names):
    """Add to names {name: dotted name} what a program imports, and what it makes by calling that."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({alias.asname or alias.name.split(".")[0]: alias.name if alias.asname else
                          alias.name.split(".")[0] for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = zip(target.elts, value.elts, strict=False) if isinstance(target, ast.Tuple) and isinstance(
                value, ast.Tuple) else [(target, value)]
            for name, made in pairs:
                if isinstance(name, ast.Name):
                    names[name.id] = dotted(made, names) if isinstance(made, ast.Call) else None


def dotted(node, names):
    """Return the dotted name of what an expression is, None where that cannot be told."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, names)
        return owner and f"{owner}.{node.attr}"
    if isinstance(node, ast.Call):
        called = dotted(node.func, names)
        is_class = called and called.rpartition(".")[2][:1].isupper()
        return called if is_class else None
    return None


def calls(tree, names):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := dotted(node.func, names)):
            is_open = any(isinstance(arg, ast.Starred) or (isinstance(arg, ast.Constant) and arg.value is ...)
                          for arg in node.args) or any(keyword.arg is None for keyword in node.keywords)
            keywords = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
            yield Call(ast.unparse(node), name, len(node.args), keywords, is_open)


def keys(content, table=""):
    """Yield (table, key) of all that TOML holds."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield from keys(value, f"{table}.{key}" if table else key)
        else:
            yield table, key
