"""The rules of the house that a reader should not have to check: who imports whom, and how files look."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
BELOW_CLI = "config errors settings tokenizer checkpoint model trace engine architecture analysis figures serving"
LAYERS = {
    "app": "ui analysis figures",
    "pages": "ui analysis figures",
    "ui": "config errors settings tokenizer trace engine architecture figures",
    "figures": "architecture analysis",
    "cli": BELOW_CLI,
    "analysis": "config tokenizer model trace architecture",
    "architecture": "config model",
    "serving": "config errors settings model checkpoint trace engine",
    "engine": "config errors settings model checkpoint trace",
    "trace": "config errors model",
    "checkpoint": "config errors model",
    "model": "config",
    "tokenizer": "errors",
    **dict.fromkeys(("config", "errors", "settings", "__init__"), ""),
    "__main__": "cli",
}
HOMES = {
    "streamlit": "app pages ui",
    "plotly": "figures",
    "pandas": "analysis figures",
    "tiktoken": "tokenizer",
    "safetensors": "checkpoint trace/codec",
    "ray": "serving",
    **dict.fromkeys(("huggingface_hub", "httpx2"), "checkpoint"),
    "torch": "cli analysis architecture serving engine trace checkpoint model tokenizer",
    **dict.fromkeys(("transformers", "tokenizers", "gguf", "hypothesis", "pytest", "tests"), ""),
}
FORBIDDEN = {"utils", "helpers", "common", "base", "manager", "misc"}
MACHINE_PATH = re.compile(r"(?<![\w.~/-])/(work|tmp|opt|root)\b")
LONGEST = 300


def files(*endings: str) -> list[Path]:
    places = [ROOT / place for place in ("explorer", "pages", "assets", "tests", "benchmarks", ".ci", ".streamlit")]
    found = [path for place in places for path in place.rglob("*")] + list(ROOT.iterdir())
    return sorted(p for p in found if p.is_file() and p.suffix in endings and ROOT / "tests" / "data" not in p.parents)


def product() -> dict[str, Path]:
    """Every module of ours that is no test, by its path without ".py", beginning below ``explorer``."""
    paths = [p for p in files(".py") if p.relative_to(ROOT).parts[0] not in ("tests", "benchmarks")]
    return {p.relative_to(ROOT).with_suffix("").as_posix().removeprefix("explorer/"): p for p in paths}


def imports(path: Path) -> list[str]:
    """The dotted names that a file imports: ``from a import b`` is a.b, a relative import is one dot."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" if not node.level else "." for alias in node.names]
    return found


def test_imports_go_down_the_layers_only() -> None:
    for module, path in product().items():
        layer = module.split("/")[0]
        ours = [name for name in imports(path) if name.split(".")[0] in ("explorer", "pages", "app")]
        used = {name.removeprefix("explorer.").split(".")[0] for name in ours}
        assert used <= {layer, *LAYERS[layer].split()}, path


def test_every_package_is_imported_only_where_it_lives() -> None:
    for module, path in product().items():
        for package in {name.split(".")[0] for name in imports(path)} & HOMES.keys():
            assert {module, module.split("/")[0]} & set(HOMES[package].split()), f"{module} imports {package}"


def test_no_module_imports_itself_in_a_circle() -> None:
    modules, graph = product(), {}
    for module, path in modules.items():
        names = [name.removeprefix("explorer.").replace(".", "/") for name in imports(path)]
        graph[module] = {end for name in names for end in (name, name.rpartition("/")[0]) if end in modules}
    TopologicalSorter(graph).prepare()  # raises CycleError naming the circle


def test_imports_are_absolute_files_short_and_names_say_something() -> None:
    assert len(product()) > 20
    for path in files(".py", ".js", ".css"):
        assert path.read_text("utf-8").count("\n") <= LONGEST, path
    for path in files(".py"):
        assert "." not in imports(path), path
        defined = [n.name for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)]
        assert not FORBIDDEN & {*path.stem.split("_"), *path.relative_to(ROOT).parts, *defined}, path


def test_no_file_names_a_folder_of_the_machine_it_was_written_on() -> None:
    for path in files(".py", ".md", ".js", ".css", ".toml", ".ini", ".txt", ".json", ".yml", ".html", ""):
        assert not MACHINE_PATH.search(path.read_text("utf-8", errors="replace")), path
