"""Text of the configuration is data: it is refused, or it reaches its place, and it is never executed."""

import ast
import shutil
import subprocess

import pytest
import xarray as xr
import yaml

from attention_limits.pipeline.base.errors import SpecError
from attention_limits.pipeline.experiments.project import load_project
from attention_limits.pipeline.experiments.yaml_reader import read_yaml
from toy import REPOSITORY, Toy, imported

SPEC = "config/toy/experiments/growth_curve.yaml"
PAYLOADS = (
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    "$(touch PWNED)",
    "`touch PWNED`",
    "{PROJECT} {output} {wildcards.chunk}",
    "a\ntouch PWNED\n",
    "--help",
    "| touch PWNED &",
    "../../PWNED",
    "{{ ''.__class__ }}",
)
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
KEYWORDS = {"shell", "allow_pickle", "typ"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}
# Compiled code in the user's folder of caches, whose other files numba itself reads with pickle.
PICKLED_CODE = "src/attention_limits/numerics/content.py"


def python_files():
    return sorted((REPOSITORY / "src").rglob("*.py"))


@pytest.mark.slow
def test_no_code_is_made_of_data():
    nodes = [(path, node) for path in python_files() for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    assert len(nodes) > 10_000
    for path, node in nodes:
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else ""
            assert name not in FORBIDDEN_CALLS, f"{path}:{node.lineno}: {name}"
            assert name not in ("os.system", "os.popen"), f"{path}:{node.lineno}"
            given = {item.arg: ast.unparse(item.value) for item in node.keywords if item.arg in KEYWORDS}
            assert given.get("shell") in (None, "False"), f"{path}:{node.lineno}"
            assert given.get("allow_pickle") in (None, "False"), f"{path}:{node.lineno}"
            if name == "YAML":
                assert given.get("typ") == "'safe'", f"{path}:{node.lineno}"
            if name in ("np.load", "numpy.load"):
                assert given.get("allow_pickle") == "False", f"{path}:{node.lineno}"
        named = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            named = [node.module or ""]
        forbidden = {name.partition(".")[0] for name in named} & FORBIDDEN_MODULES
        assert not forbidden or (forbidden, path) == ({"pickle"}, REPOSITORY / PICKLED_CODE), f"{path}:{node.lineno}"


@pytest.mark.parametrize(
    "text", ["!!python/object/apply:os.system ['touch PWNED']", "!!python/name:os.system", "&a [*a]"]
)
def test_yaml_makes_plain_data_alone(tmp_path, text, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.yaml"
    path.write_text(f"title: {text}\n")
    with pytest.raises(SpecError, match=r"x.yaml"):
        read_yaml(path)
    assert not (tmp_path / "PWNED").exists()


def texts(value, keys=()):
    """The key paths of all text in plain data, keys of mappings included (with `None` at the end)."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*keys, key, None)
            yield from texts(item, (*keys, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*keys, index))
    elif isinstance(value, str):
        yield keys


def replaced(value, keys, payload):
    """A copy of plain data with the text, or the key, at a key path replaced."""
    first, *rest = keys
    if rest == [None]:
        return {payload if key == first else key: item for key, item in value.items()}
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[first] = replaced(value[first], rest, payload) if rest else payload
    return changed


def written(toy, name, document):
    return toy.write(name, yaml.safe_dump(document, allow_unicode=True))


@pytest.mark.slow
def test_every_text_of_every_file_is_refused_or_free(toy, monkeypatch):
    """Which texts may be anything: titles and descriptions, named where they are shown. All others are refused with their key."""
    monkeypatch.chdir(toy.folder)
    toy.write("README.md", "")
    documents = {
        SPEC: {**read_yaml(toy.folder / SPEC), "requires": {"README.md": "the text"}},
        "config/toy/figures.yaml": read_yaml(toy.folder / "config/toy/figures.yaml"),
    }
    free = set()
    for name, document in documents.items():
        sound = (toy.folder / name).read_text()
        for keys in texts(document):
            for payload in PAYLOADS:
                written(toy, name, replaced(document, keys, payload))
                found = toy_project(toy)
                if not found:
                    free.add((name, keys))
        toy.write(name, sound)
    assert toy_project(toy) == []
    assert free == {
        (SPEC, ("title",)),
        (SPEC, ("description",)),
        (SPEC, ("requires", "README.md")),
        ("config/toy/figures.yaml", ("heights", "title")),
    }


@pytest.fixture
def toy(toy):
    """The toy project, whose modules are looked for in its own copy of the package."""
    with imported(toy):
        yield toy


def toy_project(toy, config=None):
    """The problems that loading the toy project finds."""
    try:
        load_project(toy.folder, {"scale": "laptop"} if config is None else config)
    except SpecError as error:
        return error.problems
    return []


@pytest.mark.parametrize("key", ["scale", "seed", "families", "results", "project"])
def test_every_key_of_the_run(toy, key):
    for payload in PAYLOADS:
        found = toy_project(toy, {"scale": "laptop", key: [payload] if key == "families" else payload})
        folder = key in ("results", "project")
        if folder and not set(payload) & set("{}\n") and not payload.startswith("-"):
            # A folder may have any other name; a project without config/ is reported.
            assert found == [] or "no such folder" in found[0] or key == "results", payload
        else:
            assert found, payload
            assert all(f": {key}" in line for line in found), payload


@pytest.mark.slow
def test_free_texts_run_as_they_are(tmp_path):
    """Everything that may be anything holds every payload at once; so do the folders of the project and of the results."""
    toy = Toy(tmp_path / 'it\'s a $(touch PWNED) "project"; mine {place}')
    everything = " ".join(payload.replace("\n", " ") for payload in PAYLOADS)
    document = {**read_yaml(toy.folder / SPEC), "title": everything, "description": everything}
    document["requires"] = {"README.md": everything}
    written(toy, SPEC, document)
    toy.write("README.md", "")
    figures = read_yaml(toy.folder / "config/toy/figures.yaml")
    # Snakemake fills in braces in the labels of its report, and cannot print a brace.
    figures["heights"]["title"] = everything.translate({ord(brace): None for brace in "{}"})
    written(toy, "config/toy/figures.yaml", figures)
    toy.write("src/attention_limits/toy/figures/heights.rst", everything)
    results = 'it\'s $(touch PWNED) `touch PWNED`; "out" there'
    done = toy.snakemake("--cores", "2", "--config", f"results={results}")
    assert done.returncode == 0, done.stderr
    with xr.open_dataset(toy.folder / results / "cubes/toy/growth_curve.nc") as cube:
        assert cube.attrs["title"] == everything
    report = toy.snakemake("--config", f"results={results}", "--report", "report.html")
    assert report.returncode == 0, report.stderr
    # The command that a message offers is as safe.
    chunk = next((toy.folder / results).glob("chunks/toy/growth_curve/growth/*.nc"))
    chunk.unlink()
    refused = toy.program("merge", SPEC, "--results", results)
    assert refused.returncode == 2
    repair = refused.stderr.partition("repair: ")[2].strip()
    subprocess.run(["bash", "-c", repair.replace("&& snakemake", "&& true")], cwd=toy.folder, check=True)
    assert list(tmp_path.rglob("PWNED")) == []


@pytest.mark.parametrize("name", ["a; touch PWNED", "$(touch PWNED)", "two words", "-x", "{chunk}", "Über"])
def test_names_of_files_are_names(toy, name, monkeypatch):
    """The family and the experiment are names of files, and stand in the lines of the shell."""
    shutil.copy(toy.folder / SPEC, toy.folder / "config/toy/experiments" / f"{name}.yaml")
    found = toy_project(toy)
    assert any(f"{name}.yaml" in line and "allowed: a name" in line for line in found)
    (toy.folder / "config/toy/experiments" / f"{name}.yaml").unlink()
    shutil.copytree(toy.folder / "config/toy", toy.folder / "config" / name)
    found = toy_project(toy)
    assert any(name in line and "allowed: a name" in line for line in found)


def test_the_file_of_a_link_is_loaded_only_when_it_is_named(tmp_path):
    """Files of links are code; those that no experiment names are never executed, and those that one names are."""
    shutil.copytree(REPOSITORY / "config", tmp_path / "config")
    # The experiments of the repository name links of these files.
    shutil.copytree(REPOSITORY / "docs" / "models", tmp_path / "docs" / "models")
    links = tmp_path / "links"
    links.mkdir()
    trap = f"open({str(tmp_path / 'executed')!r}, 'w')\n"
    (links / "mine.py").write_text(trap)
    families = ["sequence_multi_index"]
    load_project(tmp_path, {"scale": "smoke", "families": families})
    assert not (tmp_path / "executed").exists()
    spec = tmp_path / "config/sequence_multi_index/experiments/phases_product.yaml"
    model = read_yaml(spec)["model"]
    spec.write_text(yaml.safe_dump({**read_yaml(spec), "model": {**model, "link": "links/mine.py:Mine"}}))
    with pytest.raises(SpecError, match="defines no class or function 'Mine'"):
        load_project(tmp_path, {"scale": "smoke", "families": families})
    assert (tmp_path / "executed").exists()
