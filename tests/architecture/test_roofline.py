"""Least times against arithmetic by hand."""

from dataclasses import replace

import pytest

from explorer.architecture.cost import matmul_operations, prompt_operations
from explorer.architecture.parameters import parameter_count, weight_by_name
from explorer.architecture.presets import presets
from explorer.architecture.roofline import Accelerator, accelerators, decoding, least_time, prefill

MACHINE = Accelerator(name="hand", bandwidth=100.0, compute=1000.0, memory=0.0, source="")


def of(model):
    return presets()[model].sizes


def test_one_token_reads_every_weight_but_the_unused_rows_of_the_embedding():
    sizes = of("llama-3.1-8b")
    work = decoding(sizes, context=1024, batch=1, precision="bfloat16")
    rows = parameter_count(sizes).embedding - sizes.d_model
    assert work.moved == 2 * (parameter_count(sizes).total - rows) + 131_072 * 1024
    assert work.operations == 15_009_316_864 + 524_288 * 1024  # case K08


def test_a_tied_table_is_read_once():
    sizes = of("llama-3.2-1b")
    work = decoding(sizes, context=1, batch=1, precision="bfloat16")
    assert work.moved == 2 * parameter_count(sizes).total + 32_768


def test_texts_share_the_weights_and_not_their_caches():
    sizes = of("llama-3.1-8b")
    one, two = (decoding(sizes, context=1000, batch=batch, precision="bfloat16") for batch in (1, 2))
    assert two.operations == 2 * one.operations
    assert two.moved - one.moved == 131_072 * 1000 + 2 * sizes.d_model


def test_a_prompt_scores_its_last_token_only():
    sizes = of("llama-3.1-8b")
    scored = weight_by_name(sizes)["unembedding"].operations
    assert prefill(sizes, n_tokens=10, precision="bfloat16").operations == prompt_operations(sizes, 10) - 9 * scored
    assert prefill(sizes, n_tokens=1, precision="bfloat16").operations == matmul_operations(sizes) + 524_288


def test_a_token_reads_the_experts_it_is_sent_to_and_a_prompt_all():
    sizes = of("mixtral-8x7b")
    sums = parameter_count(sizes)
    one = decoding(sizes, context=1, batch=1, precision="bfloat16").moved - 131_072
    assert one == 2 * (sums.active - sums.embedding + sizes.d_model)
    many = prefill(sizes, n_tokens=100_000, precision="bfloat16").moved - 131_072 * 100_000
    assert many == 2 * sums.total


def test_the_slower_of_memory_and_arithmetic_decides():
    sizes = replace(of("llama-3.1-8b"), n_layers=1)
    work = decoding(sizes, context=1, batch=1, precision="int8")
    slow = least_time(work, replace(MACHINE, compute=1e30))
    assert (slow.seconds, slow.bound) == (work.moved / 100.0, "memory")
    fast = least_time(work, replace(MACHINE, bandwidth=1e30))
    assert (fast.seconds, fast.bound) == (work.operations / 1000.0, "compute")
    assert least_time(work, MACHINE).bound == ("memory" if work.intensity < MACHINE.ridge else "compute")


def test_decoding_waits_for_memory_and_a_long_prompt_for_arithmetic_on_every_listed_machine():
    sizes = of("llama-3.1-8b")
    for machine in accelerators().values():
        assert least_time(decoding(sizes, context=1024, batch=1, precision="bfloat16"), machine).bound == "memory"
        assert least_time(prefill(sizes, n_tokens=4096, precision="bfloat16"), machine).bound == "compute"
        assert machine.source.startswith("https://") and machine.memory > 1e9


def test_known_figures_of_a_machine_come_out():
    # H100 SXM: 989 TFLOP/s over 3.35 TB/s; 16 GB of weights need about 5 ms
    machine = accelerators()["h100"]
    assert machine.ridge == pytest.approx(295, abs=1)
    work = decoding(of("llama-3.1-8b"), context=1, batch=1, precision="bfloat16")
    assert 0.0044 < least_time(work, machine).seconds < 0.0048
