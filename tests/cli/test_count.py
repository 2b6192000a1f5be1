"""``count`` and ``rope --config``: JSON against published figures, and errors in one line."""

import json

import pytest
from safetensors.torch import load_file

from explorer.cli.main import main
from tests.conftest import DATA

FILES = DATA / "cases" / "files"
CONFIGS = FILES / "configs"
KEYS = {"total", "embedding", "unembedding", "block", "ffn_share_of_block", "non_embedding", "by_matrix"}


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]):
    def run(*arguments: str) -> dict:
        assert main(arguments) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_count_of_a_config_file_has_the_keys_that_may_be_relied_on(answer):
    counted = answer("count", "--config", str(CONFIGS / "llama3.1-8b.json"), "--context", "131072")
    parameters = counted["parameters"]
    assert parameters.keys() >= KEYS
    assert (parameters["total"], parameters["block"]) == (8_030_261_248, 218_112_000)
    assert parameters["by_matrix"]["gate"] == 4096 * 14_336
    inside = {
        name: n for name, n in parameters["by_matrix"].items() if "embedding" not in name and name != "final_norm"
    }
    assert sum(inside.values()) == parameters["block"]
    assert counted["flops_per_token"]["matmul"] == 15_009_316_864  # case K08
    assert counted["flops_per_token"]["attention"] == 524_288 * 131_072
    assert counted["kv_cache"] == {"bytes_per_token": 131_072, "bytes": 16 << 30, "with_mha_bytes": 64 << 30}


def test_count_follows_dtype_and_a_models_own_context(answer):
    counted = answer("count", "--model", "llama-2-7b", "--dtype", "float32")
    assert (counted["context"], counted["weights_bytes"]) == (4096, 4 * 6_738_415_616)
    assert counted["kv_cache"]["bytes"] == 4 << 30
    assert counted["buffers"] == 2048  # case K02


def test_count_of_the_default_model_and_of_a_folder(answer):
    assert answer("count")["parameters"]["total"] == 134_515_008
    folder = FILES / "tiny_a_hf"
    held = sum(tensor.numel() for file in folder.glob("*.safetensors") for tensor in load_file(file).values())
    assert answer("count", "--model", str(folder))["parameters"]["total"] == held


@pytest.mark.parametrize("name", ["gpt2", "gemma2-9b", "mixtral-8x7b"])
def test_count_reads_families_that_do_not_run_here(answer, name):
    counted = answer("count", "--config", str(CONFIGS / f"{name}.json"))
    assert counted["parameters"]["active"] <= counted["parameters"]["total"]
    assert counted["family"] in name


def test_rope_reads_config_files_of_both_makers(answer, tmp_path):
    theirs = answer("rope", "--config", str(CONFIGS / "llama3.1-8b.json"))
    expected = json.loads((FILES / "rope_llama31_64.json").read_text())
    assert theirs["speeds"] == pytest.approx([pair["scaled"] for pair in expected["pairs"]], rel=1e-12)
    file = tmp_path / "params.json"
    file.write_text(json.dumps({
        "dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256, "ffn_dim_multiplier": 1.3,
        "multiple_of": 1024, "norm_eps": 1e-05, "rope_theta": 500000.0, "use_scaled_rope": True,
    }))  # fmt: skip
    assert answer("rope", "--config", str(file))["speeds"] == theirs["speeds"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["count", "--config", "/no/such/file.json"], "file.json"),
        (["count", "--config", str(FILES / "bad_magic.gguf")], "bad_magic.gguf"),
        (["count", "--model", "nope"], "gpt-2-small"),
        (["count", "--model", "llama-3.1-8b", "--context", "0"], "--context is 0"),
        (["count", "--model", "llama-3.1-8b", "--dtype", "int3"], "int4"),
        (["count", "--model", "llama-3.1-8b", "--config", "x"], "Give one of them"),
        (["rope", "--model", "llama-3.1-8b", "--config", "x"], "Give one of them"),
        (["rope", "--config", str(CONFIGS / "gpt2.json")], "gpt2"),
    ],
)
def test_bad_input_ends_with_two_and_one_line(capsys, arguments, words):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert not said.out and said.err.count("\n") == 1 and words in said.err
