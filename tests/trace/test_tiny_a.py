"""The random model of the cases, whose numbers were computed by other code in double precision."""

import json

import numpy as np
import pytest
import torch

from explorer.model.attention import pattern
from explorer.model.llama import Llama
from explorer.trace.trace import Trace, TraceRequest
from tests.conftest import DATA
from tests.trace.runs import traced

FILES = DATA / "cases" / "files"
EXPECTED = json.loads((FILES / "tiny_a_expected.json").read_text())
ARRAYS = np.load(FILES / "tiny_a_expected.npz")
IDS = tuple(EXPECTED["ids"])
LAYERS = range(3)


@pytest.fixture(scope="module")
def trace(tiny_a_llama: Llama) -> Trace:
    request = TraceRequest(
        model="tiny_a", token_ids=IDS, taps=frozenset({"*"}), norms=frozenset({"*"}), scored=tuple(range(len(IDS)))
    )
    return traced(tiny_a_llama, request)


def close(ours: torch.Tensor, theirs: np.ndarray, tolerance: float = 1e-4) -> None:
    np.testing.assert_allclose(ours.double().numpy(), theirs, atol=tolerance, rtol=0)


def test_the_stream_and_the_logits_are_the_published_arrays(trace: Trace) -> None:
    close(trace["tap.embedded"], ARRAYS["resid"][0], 1e-5)
    close(trace.layers("tap.after_feed_forward"), ARRAYS["resid"][1:])
    close(trace["tap.logits"], ARRAYS["logits"])
    close(trace["tap.logits"][-1, :8], EXPECTED["logits_last_first8"])


def test_the_stream_lengths_are_those_of_the_case(trace: Trace) -> None:
    for token, published in ((-1, EXPECTED["resid_l2_last"]), (0, EXPECTED["resid_l2_first"])):
        ours = torch.cat((trace.norms["tap.embedded"][None], trace.layer_norms("tap.after_feed_forward")))[:, token]
        close(ours, published)  # case S03


def test_every_sub_layer_adds_its_output_to_the_stream(trace: Trace) -> None:
    before, middle = trace.layers("tap.before"), trace.layers("tap.after_attention")
    torch.testing.assert_close(middle, before + trace.layers("attention.tap.output"), atol=1e-5, rtol=0)  # case S03
    after = middle + trace.layers("feed_forward.tap.output")
    torch.testing.assert_close(trace.layers("tap.after_feed_forward"), after, atol=1e-5, rtol=0)
    assert torch.equal(before[1:], trace.layers("tap.after_feed_forward")[:-1])


def test_the_patterns_are_the_published_arrays(trace: Trace) -> None:
    ours = pattern(trace.layers("attention.tap.rotated_query"), trace.layers("attention.tap.rotated_key"))
    close(ours, ARRAYS["attn"], 1e-5)  # case A02
    assert torch.equal(ours, ours.tril())
    torch.testing.assert_close(ours.sum(-1), torch.ones(ours.shape[:-1]))
    last_row = ours[0, 0, -1]
    assert int(last_row.argmax()) == 43
    assert float(last_row[43]) == pytest.approx(0.97588, abs=1e-5)


def test_the_gate_alone_is_activated(trace: Trace) -> None:
    taps = {"gate": -2.166443, "activated": -0.22272, "up": -0.189145, "product": 0.042126}  # case F01
    ours = {name: float(trace[f"layers.0.feed_forward.tap.{name}"][-1, 0]) for name in taps}
    assert ours == pytest.approx(taps, abs=1e-5)
    close(trace.layers("feed_forward.tap.product"), ARRAYS["act"])


def test_the_strongest_neurons_are_those_of_the_case(trace: Trace) -> None:
    product = trace["layers.0.feed_forward.tap.product"][-1]
    strongest = product.abs().topk(5).indices  # case F03
    assert strongest.tolist() == [77, 93, 51, 40, 56]
    close(product[strongest], [2.749785, -2.593637, -2.479575, -1.400084, 1.379644])


def test_the_lens_takes_the_norm_of_each_depth(trace: Trace, tiny_a_llama: Llama) -> None:
    depths = torch.stack((trace["tap.embedded"], *trace.layers("tap.after_feed_forward")))[:, -1]
    lens = tiny_a_llama.score(depths[:, None])[:, 0]
    close(lens, ARRAYS["lens_last"])
    assert lens.argmax(-1).tolist() == [349, 448, 468, 468]  # case G03
    assert tiny_a_llama.unembedding(depths).argmax(-1).tolist() == [349, 310, 468, 468]


def test_a_single_token_runs_and_reads_only_itself(tiny_a_llama: Llama) -> None:
    trace = traced(tiny_a_llama, TraceRequest(model="", token_ids=(256,), taps=frozenset({"*"}), scored=(0,)))
    logits = trace["tap.logits"][0]
    assert int(logits.argmax()) == 451  # case A01
    close(logits[:4], [0.164634, 1.591175, -1.063042, -1.86272])
    ours = pattern(trace.layers("attention.tap.rotated_query"), trace.layers("attention.tap.rotated_key"))
    assert torch.equal(ours, torch.ones(3, 4, 1, 1))
