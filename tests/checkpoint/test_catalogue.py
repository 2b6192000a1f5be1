"""What is found in the folders of a user, and under which ids."""

import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.checkpoint.catalogue import ID, MAX_MODELS, found_models
from tests.checkpoint.tiny_folders import CASES, copied


def ids(*folders, taken=()):
    return [found.id for found in found_models(folders, taken)]


def test_every_format_is_found_and_called_by_its_name(tmp_path):
    copied(tmp_path, "tiny_a_hf")
    copied(tmp_path, "tiny_a_meta")
    shutil.copy(CASES / "tiny_a.gguf", tmp_path / "My Model (Q4_K_M).gguf")
    (tmp_path / "notes.txt").write_text("not a model")
    (tmp_path / "pictures").mkdir()
    found = found_models([tmp_path])
    assert [(model.id, model.name) for model in found] == [
        ("my-model-q4-k-m", "My Model (Q4_K_M)"),
        ("tiny-a-hf", "tiny_a_hf"),
        ("tiny-a-meta", "tiny_a_meta"),
    ]


def test_folders_beside_each_other_are_all_found_up_to_the_depth_of_the_hub_cache(tmp_path):
    copied(tmp_path / "meta-llama", "tiny_a_hf")
    snapshot = tmp_path / "hub" / "models--Qwen--Qwen3-8B" / "snapshots" / "0a1b"
    snapshot.parent.mkdir(parents=True)
    copied(snapshot.parent, "tiny_a_meta").rename(snapshot)
    (tmp_path / "deep" / "a" / "b" / "c" / "d" / "e").mkdir(parents=True)
    shutil.copy(CASES / "tiny_a.gguf", tmp_path / "deep" / "a" / "b" / "c" / "d" / "e" / "too_deep.gguf")
    assert ids(tmp_path) == ["qwen3-8b", "tiny-a-hf"]


def test_the_folder_that_is_named_may_be_the_model_itself():
    assert ids(CASES / "tiny_a_hf") == ["tiny-a-hf"]


def test_bad_models_are_listed_too_so_that_their_reason_can_be_shown():
    assert ids(CASES / "traversal_index") == ["traversal-index"]


def test_of_a_split_file_only_the_first_part_counts(tmp_path):
    for part in (1, 2, 3):
        shutil.copy(CASES / "tiny_a.gguf", tmp_path / f"big-0000{part}-of-00003.gguf")
    assert ids(tmp_path) == ["big"]


def test_equal_names_get_ids_of_their_own_and_none_is_taken_away(tmp_path):
    for folder in ("a", "b", "c"):
        copied(tmp_path / folder, "tiny_a_hf")
    assert ids(tmp_path) == ["tiny-a-hf", "tiny-a-hf-2", "tiny-a-hf-3"]
    assert ids(tmp_path / "a", taken=("tiny-a-hf",)) == ["tiny-a-hf-2"]
    assert ids(tmp_path / "a", tmp_path / "a") == ["tiny-a-hf"]


@given(names=st.lists(st.text(min_size=1, max_size=90).filter(lambda name: not re.search(r"[\x00/]", name))))
def test_every_id_can_stand_in_an_address_and_is_unique(names, tmp_path_factory):
    from explorer.checkpoint.catalogue import _free_id

    taken: set[str] = set()
    for name in [*names, *names]:
        model = _free_id(name, taken)
        assert ID.fullmatch(model) and model not in taken
        taken.add(model)


def test_a_link_that_leads_round_in_a_circle_ends(tmp_path):
    copied(tmp_path, "tiny_a_hf").rename(tmp_path / "model")
    (tmp_path / "again").symlink_to(tmp_path)
    assert ids(tmp_path) == ["model"]


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_what_is_no_folder_holds_no_model(tmp_path, name):
    (tmp_path / "file").write_text("x")
    assert ids(tmp_path / name) == []


def test_no_more_models_are_listed_than_anyone_can_choose_from(tmp_path):
    for number in range(MAX_MODELS + 3):
        (tmp_path / f"{number}.gguf").touch()
    assert len(ids(tmp_path)) == MAX_MODELS
