"""Recording shows what a network does, changes nothing of it, and does not touch other threads."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import regard
from regard.config import ModelConfig
from regard.engines.lean import make_lean
from regard.look.attribution import silence
from regard.model.attention import MultiHeadAttention, attend, attend_with_weights
from regard.model.capture import record_attention, record_hidden
from regard.model.transformer import CausalLM, EncoderDecoder

THREADS = 8


@st.composite
def looks(draw):
    """An attention, what it is given, and how exactly two ways to compute it can agree."""
    heads = draw(st.sampled_from([1, 2, 4]))
    kv_heads = draw(st.sampled_from([n for n in (1, 2, 4) if heads % n == 0]))
    dtype, exactness = draw(
        st.sampled_from([(torch.float32, 1e-5), (torch.float64, 1e-10), (torch.bfloat16, 0.03), (torch.float16, 4e-3)])
    )
    torch.manual_seed(draw(st.integers(0, 999)))
    rows, queries, keys = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    attention = MultiHeadAttention(8, heads, kv_heads=kv_heads).to(dtype)
    x, memory = torch.randn(rows, queries, 8).to(dtype), torch.randn(rows, keys, 8).to(dtype)
    shape = [draw(st.sampled_from([1, n])) for n in (rows, heads, queries)] + [keys]
    mask = torch.rand(shape) > draw(st.sampled_from([0.0, 0.4, 0.9]))  # often rows that may look at nothing
    kind = draw(st.sampled_from(["none", "bool", "float", "hard float"]))
    if kind == "float":
        mask = torch.randn(shape).to(dtype)
    if kind == "hard float":
        mask = torch.zeros(shape).masked_fill(~mask, -math.inf).to(dtype)
    options = {"may_attend": None if kind == "none" else mask, "is_causal": draw(st.booleans())}
    return attention, x, memory, options, exactness


@given(looks())
@settings(max_examples=120)
def test_what_is_recorded_is_what_the_fused_kernel_computes(given_look):
    attention, x, memory, options, exactness = given_look
    x = x.requires_grad_()
    fused = attention(x, *attention.read(memory), **options)
    with record_attention(attention) as seen:
        recorded = attention(x, *attention.read(memory), **options)
    torch.testing.assert_close(recorded, fused, rtol=exactness, atol=exactness)
    slopes = [torch.autograd.grad(one.sum(), x)[0] for one in (fused, recorded)]
    torch.testing.assert_close(slopes[1], slopes[0], rtol=10 * exactness, atol=10 * exactness)
    (weights,) = seen[""]
    sums = weights.float().sum(-1)
    assert ((sums - 1).abs() < 0.02).logical_or(sums == 0).all()
    assert weights.shape == (len(x), attention.heads, x.shape[1], memory.shape[1])
    allowed = torch.ones(weights.shape, dtype=torch.bool)
    if options["is_causal"]:
        allowed = allowed.tril()
    mask = options["may_attend"]
    if mask is not None:
        allowed = allowed & (mask if mask.dtype == torch.bool else ~mask.isneginf())
    assert (weights[~allowed] == 0).all()
    assert torch.equal(sums == 0, ~allowed.any(-1))


def test_a_mask_of_whole_numbers_is_refused_both_ways():
    query, mask = torch.randn(1, 2, 3, 4), torch.ones(3, 3, dtype=torch.long)
    for look in (attend, attend_with_weights):
        with pytest.raises(regard.ConfigError, match=r"a mask of torch\.int64 is ambiguous; give booleans"):
            look(query, query, query, mask)


def small(**shape):
    torch.manual_seed(2)
    return CausalLM(ModelConfig(vocab_size=40, layers=2, width=32, heads=4, ffn_width=48, **shape)).eval()


@pytest.mark.parametrize("shape", [{}, {"norm": "pre"}, {"positions": "rotary", "kv_heads": 2}])
def test_nested_recordings_each_get_everything(shape):
    network, ids = small(**shape), torch.randint(0, 40, (2, 7))
    expected = network(ids)
    with record_attention(network) as outer, record_hidden(network) as states:
        first = network(ids)
        with record_attention(network) as ffn_width, record_hidden(network.stack) as same_states:
            second = network(ids)
        network(ids)
    assert {len(entries) for entries in outer.values()} == {3} and {len(one) for one in ffn_width.values()} == {1}
    assert all(torch.equal(outer[name][1], ffn_width[name][0]) for name in ffn_width)
    assert len(states["stack"]) == 9 and torch.equal(states["stack"][3], same_states[""][0])
    assert torch.equal(states["stack"][-1], second)  # the last is what comes out
    torch.testing.assert_close(first, expected)
    assert torch.equal(network(ids), expected) and len(states["stack"]) == 9  # afterwards nothing is recorded


def test_threads_with_and_without_a_recording_do_not_disturb_each_other():
    network = small()
    texts = [torch.randint(0, 40, (1, 3 + number % 5)) for number in range(64)]

    def plain(ids):
        return network(ids)

    def watched(ids):
        with record_attention(network) as seen, record_hidden(network) as states:
            out = network(ids)
        return out, seen, states

    def muted(ids):
        with silence(network, "stack.blocks.0.self_attention", 1):
            return network(ids)

    ways = [plain, watched, muted]
    jobs = [(ways[number % 3], ids) for number, ids in enumerate(texts * 3)]
    with torch.inference_mode():
        expected = [way(ids) for way, ids in jobs]

    def run(job):
        with torch.inference_mode():
            return job[0](job[1])

    with ThreadPoolExecutor(THREADS) as pool:
        for found, wanted in zip(pool.map(run, jobs), expected, strict=True):
            torch.testing.assert_close(found, wanted)


def test_what_another_thread_runs_is_not_recorded_and_an_empty_recording_is_told():
    network, ids = small(), torch.randint(0, 40, (1, 4))
    with ThreadPoolExecutor(1) as pool:
        told = pytest.warns(RuntimeWarning, match="nothing was recorded: CausalLM did not run in this thread")
        with told, record_attention(network) as seen:
            pool.submit(network, ids).result()
        assert not any(seen.values())


def test_a_network_without_our_parts_cannot_be_recorded():
    for record in (record_attention, record_hidden):
        with (
            pytest.raises(regard.ConfigError, match=r"Linear has no .* of regard\.model in it"),
            record(nn.Linear(3, 3)),
        ):
            pass
        with pytest.raises(regard.ConfigError, match="str is no network"), record("models/en-fr"):
            pass


def test_heads_that_do_not_divide_the_width_are_refused_with_the_remedy():
    with pytest.raises(regard.ConfigError, match="width=10 cannot be shared equally by heads=3; try width=12"):
        MultiHeadAttention(10, 3)
    with pytest.raises(regard.ConfigError, match="heads=4 cannot be shared equally by kv_heads=3"):
        MultiHeadAttention(8, 4, kv_heads=3)
    with pytest.raises(regard.ConfigError, match="heads=0: it must be at least 1"):
        MultiHeadAttention(8, 0)
    own = MultiHeadAttention(10, 3, key_width=4, value_width=4)
    assert own(torch.randn(1, 2, 10), *own.read(torch.randn(1, 5, 10))).shape == (1, 2, 10)


@pytest.mark.parametrize("kv_heads", [None, 2, 1])
def test_a_cache_holds_key_heads_only_and_says_what_the_whole_text_says(kv_heads):
    network, ids = small(positions="rotary", kv_heads=kv_heads), torch.randint(0, 40, (2, 9))
    with torch.inference_mode():
        cache = network.open_cache(2, 9)
        assert cache.keys.shape[2] == (kv_heads or 4)
        parts = [network.advance(part, cache) for part in ids.split([4, 1, 1, 3], dim=1)]
        torch.testing.assert_close(torch.cat(parts, 1), network(ids), rtol=1e-5, atol=1e-5)


def test_a_cache_that_is_too_small_is_told_in_words():
    network = small()
    cache = network.open_cache(2, 4)
    network.advance(torch.zeros(2, 3, dtype=torch.long), cache)
    with pytest.raises(regard.ConfigError, match=r"room for 4 tokens, 3 are in it and 2 more do not fit; .* room=5"):
        network.advance(torch.zeros(2, 2, dtype=torch.long), cache)
    with pytest.raises(regard.ConfigError, match="cache is of 2 rows and 1 are given"):
        network.advance(torch.zeros(1, 1, dtype=torch.long), cache)
    pair = EncoderDecoder(ModelConfig(vocab_size=40, layers=1, width=16, heads=2, ffn_width=16), pad_id=39).eval()
    with torch.inference_mode():
        cache = pair.open_cache(*pair.encode(torch.tensor([[3, 4]])), room=1)
        make_lean(pair).advance(torch.tensor([[5]]), cache)
        with pytest.raises(regard.ConfigError, match="room for 1 tokens"):
            make_lean(pair).advance(torch.tensor([[5]]), cache)


@pytest.mark.filterwarnings("ignore:nothing was recorded")
def test_recording_a_model_that_ctranslate2_runs_is_refused_with_the_remedy(translator, folder, writer_folder):
    line = "The dog sees the cat."
    for record in (record_attention, record_hidden):
        with record(translator.model), pytest.raises(regard.ConfigError, match=r"ctranslate2.*engine=\"torch\""):
            translator(line)
        with record(translator), pytest.raises(regard.ConfigError, match=r"ctranslate2.*engine=\"torch\""):
            translator.translate(line)
    slow = regard.load(folder, engine="torch")
    with record_attention(slow) as seen:
        assert slow(line) == translator(line)  # another model may be run by whatever runs it
    assert all(seen.values())
    writer = regard.load(writer_folder)
    assert (writer.engine, translator.engine) == ("ctranslate2", "ctranslate2")
    with record_attention(writer), pytest.raises(regard.ConfigError, match=r"engine=\"torch\""):
        writer("The", tokens=3)


@torch.no_grad()
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_residuals_are_cut_inside_the_context_and_only_there(norm):
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=20, layers=2, width=16, heads=2, ffn_width=24, norm=norm, dropout=0.0)
    network, ids = CausalLM(config).eval(), torch.randint(20, (1, 5))
    before = network(ids)
    block = network.stack.blocks[0]
    with regard.without_residuals(network) as cut:
        assert len(cut) == 4
        alone = network(ids)
        x = torch.randn(1, 5, 16)
        given = block.self_residual.before(x)
        seen = block.self_attention(given, *block.self_attention.read(given), is_causal=True)
        passed = seen if norm == "pre" else block.self_residual.norm(seen)
        fed = block.feed_forward(block.feed_residual.before(passed))
        expected = fed if norm == "pre" else block.feed_residual.norm(fed)
        assert torch.allclose(block(x, is_causal=True), expected, atol=1e-6)
    assert not torch.allclose(alone, before, atol=1e-3) and torch.equal(network(ids), before)
    with regard.without_residuals(network, "stack.blocks.1") as cut:
        assert cut == ["stack.blocks.1.self_residual", "stack.blocks.1.feed_residual"]
        assert not torch.allclose(network(ids), before, atol=1e-3)


def test_a_residual_that_is_not_there_cannot_be_cut():
    network = CausalLM(ModelConfig(vocab_size=20, layers=1, width=16, heads=2, ffn_width=24, dropout=0.0))
    with (
        pytest.raises(regard.ConfigError, match=r"no residual connection in 'encoder'; it has stack\.blocks\.0\.self"),
        regard.without_residuals(network, "stack", "encoder"),
    ):
        pass
    with pytest.raises(regard.ConfigError, match="so none can be cut"), regard.without_residuals(nn.Linear(2, 2)):
        pass


def test_another_thread_keeps_its_residuals():
    network = CausalLM(ModelConfig(vocab_size=20, layers=1, width=16, heads=2, ffn_width=24, dropout=0.0)).eval()
    ids = torch.randint(20, (1, 5))
    before = network(ids)
    with regard.without_residuals(network), ThreadPoolExecutor(1) as pool:
        assert torch.equal(pool.submit(network, ids).result(), before)
