"""The network as a whole: no leaks, no trace of padding, one answer whichever way it is asked."""

import pytest
import torch
from torch import nn

from regard.config import ModelConfig
from regard.data.batch import TextBatch
from regard.model.blocks import Block, Dropout
from regard.model.capture import record_attention
from regard.model.transformer import EncoderDecoder, MaskedLM

PAD = 49


def some_ids(rows: int, length: int) -> torch.Tensor:
    return torch.randint(0, PAD, (rows, length))


def test_a_later_token_does_not_change_an_earlier_logit(network):
    source, target = some_ids(2, 6), some_ids(2, 7)
    before = network.logits(network(source, target))
    target[:, 4:] = some_ids(2, 3)
    after = network.logits(network(source, target))
    assert torch.equal(before[:, :4], after[:, :4])
    assert not torch.equal(before[:, 4:], after[:, 4:])


def test_padding_does_not_change_a_row(network):
    source, target = some_ids(1, 5), some_ids(1, 4)
    alone = network(source, target)
    padded_source = torch.cat([source, torch.full((1, 3), PAD)], 1)
    padded_target = torch.cat([target, torch.full((1, 2), PAD)], 1)
    others = some_ids(1, 8), some_ids(1, 6)
    together = network(torch.cat([padded_source, others[0]]), torch.cat([padded_target, others[1]]))
    assert torch.allclose(alone[0], together[0, :4], atol=1e-5)


def test_a_cached_step_is_the_full_forward(network):
    source = torch.cat([some_ids(2, 6), torch.tensor([[1, 2], [PAD, PAD]])], 1)
    target = some_ids(2, 7)
    whole = network(source, target)
    memory, may_attend = network.encode(source)
    cache = network.open_cache(memory, may_attend, room=7)
    parts = [network.advance(target[:, :3], cache)]  # several at once, then one by one
    parts += [network.advance(target[:, t : t + 1], cache) for t in range(3, 7)]
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-5)
    assert cache.length == 7


def test_cache_rows_can_be_dropped_repeated_and_swapped(network):
    source, target = some_ids(3, 5), some_ids(3, 4)
    memory, may_attend = network.encode(source)
    cache = network.open_cache(memory, may_attend, room=4)
    network.advance(target[:, :3], cache)
    rows = torch.tensor([2, 0, 0])
    cache.keep(rows)
    stepped = network.advance(target[rows, 3:], cache)
    assert torch.allclose(stepped[:, 0], network(source, target)[rows, 3], atol=1e-5)


def test_recording_does_not_change_the_output(network):
    source, target = some_ids(2, 6), some_ids(2, 5)
    plain = network(source, target)
    with record_attention(network) as seen:
        recorded = network(source, target)
    assert torch.allclose(plain, recorded, atol=1e-6)
    assert seen["decoder.blocks.1.cross_attention"][0].shape == (2, 4, 5, 6)
    assert len(seen) == 6
    for weights in seen.values():
        assert torch.allclose(weights[0].sum(-1), torch.ones(weights[0].shape[:-1]), atol=1e-6)
    count = len(seen["decoder.blocks.1.cross_attention"])
    network(source, target)
    assert len(seen["decoder.blocks.1.cross_attention"]) == count  # no longer recorded


def test_padding_is_never_said_and_is_a_zero_vector(network):
    logits = network.logits(network(some_ids(1, 4), some_ids(1, 3)))
    assert (logits[..., PAD] < -1e8).all() and logits.isfinite().all()
    assert (network.embedding.table.weight[PAD] == 0).all()


def test_input_and_output_share_one_table(network):
    names = [name for name, p in network.named_parameters() if p.shape == (50, 32)]
    assert names == ["embedding.table.weight"]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_blocks_agree_with_torch_layers(norm):
    config = ModelConfig(vocab_size=10, width=16, heads=4, ffn_width=32, norm=norm, dropout=0.0)
    ours = Block(config, reads_memory=True).eval()
    theirs = nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True, norm_first=norm == "pre").eval()
    with torch.no_grad():
        for mine, other in ((ours.self_attention, theirs.self_attn), (ours.cross_attention, theirs.multihead_attn)):
            other.in_proj_weight.copy_(torch.cat([mine.query.weight, mine.key.weight, mine.value.weight]))
            other.in_proj_bias.copy_(torch.cat([mine.query.bias, mine.key.bias, mine.value.bias]))
            other.out_proj.load_state_dict(mine.output.state_dict())
        for norm_layer in (ours.self_residual.norm, ours.cross_residual.norm, ours.feed_residual.norm):
            norm_layer.weight.uniform_(0.5, 2)
        theirs.norm1.load_state_dict(ours.self_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.cross_residual.norm.state_dict())
        theirs.norm3.load_state_dict(ours.feed_residual.norm.state_dict())
        theirs.linear1.load_state_dict(ours.feed_forward.up.state_dict())
        theirs.linear2.load_state_dict(ours.feed_forward.down.state_dict())
    x, memory = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    causal = nn.Transformer.generate_square_subsequent_mask(5)
    assert torch.allclose(ours(x, is_causal=True, memory=memory), theirs(x, memory, tgt_mask=causal), atol=1e-5)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_other_positions_keep_all_promises(positions):
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, positions=positions, dropout=0.0)
    network = EncoderDecoder(config, PAD).eval()
    test_a_later_token_does_not_change_an_earlier_logit(network)
    test_padding_does_not_change_a_row(network)
    test_a_cached_step_is_the_full_forward(network)


def test_order_matters_to_the_network(network):
    source = some_ids(1, 6)
    assert not torch.allclose(network.encode(source)[0].mean(1), network.encode(source.flip(1))[0].mean(1), atol=1e-3)


def test_dropout_silences_its_share_and_keeps_the_mean():
    x = torch.ones(200_001)
    layer = Dropout(0.3).train()
    dropped = layer(x)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(layer.eval()(x), x)
    torch.manual_seed(5)
    once = layer.train()(x)
    torch.manual_seed(5)
    assert torch.equal(layer(x), once)


def test_working_for_some_places_only_gives_the_same_there():
    torch.manual_seed(1)
    config = ModelConfig(vocab_size=50, layers=2, width=32, heads=4, ffn_width=48, dropout=0.0, positions="learned")
    network = MaskedLM(config, pad_id=0).eval()
    ids = torch.randint(1, 50, (3, 9))
    ids[1, 6:] = 0
    is_label = torch.zeros(3, 9, dtype=torch.bool)
    is_label[0, 2], is_label[1, [0, 5]], is_label[2, [1, 4, 8]] = True, True, True
    places, is_real = TextBatch(24, ids, ids, is_label).label_places()
    assert is_real.sum().item() == 6 and places.shape == (3, 3)
    some = network(ids, wanted=places)[is_real]
    assert torch.allclose(some, network(ids)[is_label], atol=1e-5)
