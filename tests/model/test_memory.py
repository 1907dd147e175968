"""The memory network and the story Transformer: what they must and must not depend on."""

import pytest
import torch
from torch.autograd import gradcheck

from regard.config import ModelConfig
from regard.model.attention import linear_attention, soft_attention
from regard.model.capture import record_attention
from regard.model.memory import MemoryNetwork, keep_chosen
from regard.model.story import StoryTransformer, mixture, newest_match

PAD, VOCABULARY = 0, 30


def make(kind, **more):
    torch.manual_seed(2)
    shape = {"width": 16, "ffn_width": 24, "heads": 2, "hops": 3, "max_positions": 24, "dropout": 0.0} | more
    config = ModelConfig(kind=kind, vocab_size=VOCABULARY, layers=1, norm="pre", **shape)
    network = (MemoryNetwork if kind == "memory" else StoryTransformer)(config, PAD).eval()
    with torch.no_grad():
        for parameter in network.parameters():  # no two tables are equal, and padding has a row, as after training
            parameter.add_(0.1 * torch.randn_like(parameter))
        network.answer_temperature.uniform_(0.5, 2)
    return network


NETWORKS = {
    "adjacent": lambda: make("memory", restarts=3),
    "layer-wise": lambda: make("memory", restarts=3, tying="layer-wise"),
    "transformer": lambda: make("transformer"),
}


@pytest.fixture(params=NETWORKS)
def network(request):
    return NETWORKS[request.param]()


def story(rows=2, sentences=5, words=4):
    told = torch.randint(1, VOCABULARY, (rows, sentences, words))
    return told, torch.arange(sentences).flip(0).expand(rows, -1), torch.randint(1, VOCABULARY, (rows, 3))


@torch.no_grad()
def test_padding_does_not_change_an_answer(network):
    sentences, ages, questions = story()
    alone = network(sentences[:1], ages[:1], questions[:1])
    padded = torch.nn.functional.pad(sentences, (0, 2, 0, 3))  # longer sentences, more of them
    asked = torch.nn.functional.pad(questions, (0, 2))
    together = network(padded, torch.nn.functional.pad(ages, (0, 3)), asked)
    assert torch.allclose(alone[:, 0], together[:, 0], atol=1e-5)


@torch.no_grad()
def test_order_of_words_and_of_sentences_matters_and_a_story_may_be_empty(network):
    sentences, ages, questions = story()
    before = network(sentences, ages, questions)
    assert not torch.allclose(before, network(sentences.flip(2), ages, questions), atol=1e-4)
    assert not torch.allclose(before, network(sentences, ages.flip(1), questions), atol=1e-4)
    empty = network(torch.zeros_like(sentences), ages, questions)
    assert torch.isfinite(empty).all()


@torch.no_grad()
def test_each_hop_tells_what_it_looked_at_and_looking_changes_nothing(network):
    sentences, ages, questions = story()
    sentences[1, 3:] = PAD
    before = network(sentences, ages, questions)
    with record_attention(network) as seen:
        assert torch.equal(network(sentences, ages, questions), before)
    hops = [weights[0] for name, weights in seen.items() if name.startswith("hops.")]
    assert len(hops) == 3
    for weights in hops:
        assert weights.shape[0] == 2 and weights.shape[2] == 5
        assert (weights >= 0).all() and (weights.sum(-1) <= 1 + 1e-5).all()
        assert (weights[1, :, 3:] < 1e-6).all()


@torch.no_grad()
@pytest.mark.parametrize("tying", ["adjacent", "layer-wise"])
@pytest.mark.parametrize("is_linear", [False, True])
def test_it_is_the_memory_network_of_the_paper_written_out(tying, is_linear):
    """With vectors for every sentence, one network at a time, word by word."""
    network = make("memory", restarts=2, tying=tying)
    sentences, ages, questions = story()
    sentences[0, 2, 2:] = PAD
    got = network(sentences, ages, questions, is_linear)
    width = network.config.width

    def vector(words, table):
        words = [int(word) for word in words if word != PAD]
        total = torch.zeros(width)
        for j, word in enumerate(words, start=1):
            k = torch.arange(1, width + 1) / width
            total += ((1 - j / len(words)) - k * (1 - 2 * j / len(words))) * table[word]
        return total

    for r in range(2):
        words, times = [table[r] for table in network.words], [table[r] for table in network.times]
        for b in range(2):
            state = vector(questions[b], words[0 if tying == "adjacent" else 2])
            for hop in range(3):
                a, c = (hop, hop + 1) if tying == "adjacent" else (0, 1)
                told = list(zip(sentences[b], ages[b].tolist(), strict=True))
                keys = torch.stack([*(vector(s, words[a]) + times[a][age] for s, age in told), torch.zeros(width)])
                values = torch.stack([*(vector(s, words[c]) + times[c][age] for s, age in told), torch.zeros(width)])
                look = linear_attention if is_linear else soft_attention
                found, _ = look(state, keys, values)
                state = (state if tying == "adjacent" else state @ network.between[r]) + found
            assert torch.allclose(got[r, b], words[-1] @ state / network.answer_temperature[r, 0], atol=1e-4)


@torch.no_grad()
def test_a_controller_that_begins_at_zero_takes_the_average_and_reads_no_question():
    network = make("memory", controller="zero", hops=2)
    sentences, ages, questions = story()
    with record_attention(network) as seen:
        logits = network(sentences, ages, questions)
    assert torch.allclose(seen["hops.0"][0], torch.full((2, 1, 5), 1 / 6)), "five sentences and the empty memory"
    assert not torch.allclose(seen["hops.1"][0], torch.full((2, 1, 5), 1 / 6), atol=1e-3)
    assert torch.equal(network(sentences, ages, questions.flip(0)), logits)
    assert not torch.allclose(network(sentences.flip(2), ages, questions), logits, atol=1e-3)


def test_networks_side_by_side_do_not_know_of_each_other():
    network = make("memory", restarts=3)
    sentences, ages, questions = story()
    network(sentences, ages, questions)[1].sum().backward()
    for name, parameter in network.named_parameters():
        if parameter.grad is not None:
            assert (parameter.grad[0] == 0).all() and (parameter.grad[2] == 0).all(), name
            assert parameter.grad[1].abs().sum() > 0


@torch.no_grad()
def test_the_chosen_network_is_the_one_that_is_kept():
    network = make("memory", restarts=3)
    inputs = story()
    network.chosen.fill_(2)
    alone = make("memory", restarts=1)
    alone.load_state_dict(keep_chosen(network.state_dict()))
    assert torch.allclose(alone(*inputs)[0], network(*inputs)[2], atol=1e-6)


def test_the_newest_match_wins_and_its_gradient_is_right():
    weights = newest_match(torch.tensor([9.0, -9.0, 9.0, -9.0]))
    assert weights.argmax() == 2 and weights.sum() == pytest.approx(1, abs=1e-3)
    assert newest_match(torch.full((5,), -30.0)).sum() < 1e-6
    assert mixture(torch.full((5,), -30.0)).sum() < 1e-6
    assert gradcheck(newest_match, torch.randn(2, 6, dtype=torch.float64, requires_grad=True))


@torch.no_grad()
def test_a_sentence_of_more_words_than_places_is_still_read():
    network = make("transformer")
    sentences, ages, questions = story(words=50)
    assert torch.isfinite(network(sentences, ages, questions)).all()
