"""The networks behind the table of fedhpo, and the script that trains them."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from guidefbo.core.streams import Streams
from guidefbo.problems.realworld.fedhpo_table import read_trained

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
gcn = importlib.import_module("fedhpo_gcn")
graphs = importlib.import_module("fedhpo_graph")
script = importlib.import_module("fedhpo_table")
sys.path.pop(0)


def rng(seed=0):
    return Streams(seed).at("test")


def planted(num_nodes=90, num_classes=3, num_features=12, seed=0):
    """Return a graph whose classes show in its edges and features."""
    r = rng(seed)
    y = r.integers(0, num_classes, num_nodes)
    u, v = np.triu_indices(num_nodes, 1)
    is_edge = r.random(len(u)) < np.where(y[u] == y[v], 0.15, 0.01)
    x = (r.random((num_nodes, num_features)) < 0.2).astype(np.float32)
    x[np.arange(num_nodes), y] = 1.0
    return graphs.Graph(sp.csr_matrix(x), np.stack([u, v], axis=1)[is_edge], y)


@pytest.fixture
def graph():
    return planted()


def weights_of(graph, hidden=5, seed=1):
    """Return weights in double precision, biases not 0."""
    r = rng(seed)
    sizes = graph.features.shape[1], hidden, int(graph.labels.max()) + 1
    first = gcn.initial_weights(*sizes, r, np.float64)
    return gcn.Weights(*(w + 0.1 * r.normal(size=w.shape) for w in first))


def dense_logits(graph, weights, factors=1.0):
    """The formula as it is written, on the whole graph."""
    n = graph.num_nodes
    a = np.eye(n)
    a[tuple(graph.edges.T)] = a[tuple(graph.edges.T[::-1])] = 1.0
    root = np.sqrt(a.sum(axis=1))
    a /= np.outer(root, root)
    h = np.maximum(a @ graph.features.toarray() @ weights.w1 + weights.b1, 0.0)
    return a @ (h * factors) @ weights.w2 + weights.b2


def slope(function, weights):
    """Return central differences of a function of the weights."""
    found = []
    for w in weights:
        g = np.empty_like(w)
        for at in np.ndindex(w.shape):
            kept = w[at]
            ends = []
            for step in (1e-6, -1e-6):
                w[at] = kept + step
                ends.append(function())
            w[at] = kept
            g[at] = (ends[0] - ends[1]) / 2e-6
        found.append(g)
    return found


def test_scores_are_those_of_the_formula(graph):
    weights = weights_of(graph)
    scored = np.arange(3, graph.num_nodes, 4)
    part = graphs.make_part(graph, np.arange(graph.num_nodes), scored, np.float64)
    expected = dense_logits(graph, weights)[scored]
    np.testing.assert_allclose(gcn.logits_of(part, weights), expected, atol=1e-12)
    assert part.labels.tolist() == graph.labels[scored].tolist()


def test_a_subgraph_has_its_own_edges_and_degrees(graph):
    nodes = np.flatnonzero(rng(2).random(graph.num_nodes) < 0.5)
    scored = np.arange(0, graph.num_nodes, 2)
    part = graphs.make_part(graph, nodes, scored, np.float64)
    inside = np.isin(graph.edges, nodes).all(axis=1)
    alone = graphs.Graph(
        graph.features[nodes],
        np.searchsorted(nodes, graph.edges[inside]),
        graph.labels[nodes],
    )
    weights = weights_of(graph)
    expected = dense_logits(alone, weights)[np.isin(nodes, scored)]
    np.testing.assert_allclose(gcn.logits_of(part, weights), expected, atol=1e-12)


def test_a_product_for_all_clients_changes_nothing(graph):
    weights = weights_of(graph)
    parts = [
        graphs.make_part(graph, nodes, np.arange(0, graph.num_nodes, 2), np.float64)
        for nodes in np.array_split(np.arange(graph.num_nodes), 3)
    ]
    xw = graph.features.astype(np.float64) @ weights.w1
    for part in parts:
        again = gcn.logits_of(part, weights, xw)
        np.testing.assert_allclose(again, gcn.logits_of(part, weights), atol=1e-14)
    config = gcn.Config(dropout=0.5, lr=0.3, step=2, wd=0.01)
    apart = gcn.one_round(parts, weights, config, rng(3))
    together = gcn.one_round(parts, weights, config, rng(3), xw)
    for a, b in zip(apart, together, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-14)


def test_loss_and_accuracy_by_hand():
    scores = np.array([[0.0, np.log(3.0)], [800.0, 0.0]])
    assert gcn.loss_of(scores, np.array([1, 0])) == pytest.approx(np.log(4 / 3) / 2)
    assert gcn.accuracy_of(scores, np.array([1, 1])) == 0.5


@pytest.mark.parametrize("dropout", [0.0, 0.5, 0.25])
def test_the_gradient_is_the_slope(graph, dropout):
    weights = weights_of(graph)
    scored = np.arange(0, graph.num_nodes, 3)
    part = graphs.make_part(graph, np.arange(graph.num_nodes), scored, np.float64)
    # Which units are kept, as the same stream decides it again.
    near = np.unique(graphs.adjacency(graph.num_nodes, graph.edges)[scored].indices)
    noise = np.frombuffer(rng(4).bytes(len(near) * 5), np.uint8).reshape(-1, 5)
    factors = np.zeros((graph.num_nodes, 5))
    factors[near] = (noise >= 256 * dropout) / (1.0 - dropout)

    def loss():
        return gcn.loss_of(dense_logits(graph, weights, factors)[scored], part.labels)

    found = gcn.gradient(part, weights, dropout, rng(4))
    for ours, expected in zip(found, slope(loss, weights), strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-8)


def test_one_client_and_one_step_is_central_descent(graph):
    weights = weights_of(graph)
    everything = np.arange(graph.num_nodes)
    part = graphs.make_part(graph, everything, everything, np.float64)
    config = gcn.Config(dropout=0.0, lr=0.3, step=1, wd=0.01)
    new = gcn.one_round([part], weights, config, rng())
    slopes = gcn.gradient(part, weights, 0.0, None)
    for w, g, found in zip(weights, slopes, new, strict=True):
        np.testing.assert_allclose(found, w - 0.3 * (g + 0.01 * w), atol=1e-14)


def test_clients_are_averaged_by_their_training_nodes(graph):
    weights = weights_of(graph)
    cut = np.array_split(np.arange(graph.num_nodes), [20, 50])
    # The last client has no training node, and no say.
    parts = [
        graphs.make_part(graph, nodes, scored, np.float64)
        for nodes, scored in zip(cut, (cut[0][:5], cut[1], cut[0]), strict=True)
    ]
    assert [len(p.labels) for p in parts] == [5, 30, 0]
    config = gcn.Config(dropout=0.0, lr=0.2, step=3, wd=0.001)
    before = [w.copy() for w in weights]
    new = gcn.one_round(parts, weights, config, rng())
    for w, kept in zip(weights, before, strict=True):
        assert np.array_equal(w, kept)
    locals_ = []
    for part in parts[:2]:
        w = weights
        for _ in range(3):
            g = gcn.gradient(part, w, 0.0, None)
            w = gcn.Weights(
                *(a - 0.2 * (b + 0.001 * a) for a, b in zip(w, g, strict=True))
            )
        locals_.append(w)
    for a, b, found in zip(*locals_, new, strict=True):
        np.testing.assert_allclose(found, (5 * a + 30 * b) / 35, atol=1e-13)


def trained(graph, config, **options):
    streams = Streams(5)
    parts = script.parts_of(graph, 12, 20, streams)
    return gcn.train(*parts, config, rng(), **options)


def test_training_learns_and_is_repeatable(graph):
    config = gcn.Config(dropout=0.5, lr=0.3, step=2, wd=0.0)
    end = trained(graph, config, num_rounds=60)
    assert end.val_acc > 0.8
    assert end.test_acc > 0.8
    assert end == trained(graph, config, num_rounds=60)


def test_training_ends_when_patience_does(graph):
    # Classes that nothing tells of: what is learned soon does harm.
    graph = graph._replace(labels=rng(6).permutation(graph.labels))
    config = gcn.Config(dropout=0.0, lr=0.3, step=2, wd=0.0)
    end = trained(graph, config, num_rounds=500, patience=7)
    assert end.num_rounds == end.best_round + 7 < 500
    full = trained(graph, config, num_rounds=end.best_round)
    assert (full.val_acc, full.val_loss, full.test_acc) == end[:3]


def test_a_network_that_diverges_has_the_score_of_its_best_round(graph):
    end = trained(graph, gcn.Config(dropout=0.0, lr=1e6, step=4, wd=0.1))
    assert end.num_rounds < 500
    assert np.isfinite(end.val_loss)
    assert 0.0 <= end.val_acc <= 1.0


def ring_of_cliques(size, count):
    inner = [(a, b) for a in range(size) for b in range(a + 1, size)]
    edges = [(c * size + a, c * size + b) for c in range(count) for a, b in inner]
    edges += [
        tuple(sorted((c * size, (c + 1) % count * size + 1))) for c in range(count)
    ]
    return np.array(edges)


def test_communities_of_a_ring_of_cliques():
    size, count = 5, 6
    found = graphs.louvain(size * count, ring_of_cliques(size, count), rng())
    assert sorted(set(found)) == list(range(count))
    for c in range(count):
        assert len(set(found[c * size : (c + 1) * size])) == 1


def modularity(num_nodes, edges, communities):
    degree = np.bincount(edges.ravel(), minlength=num_nodes)
    inside = np.mean(communities[edges[:, 0]] == communities[edges[:, 1]])
    share = np.bincount(communities, weights=degree) / degree.sum()
    return inside - np.sum(share**2)


def test_no_move_of_one_node_raises_the_modularity_of_a_first_level(graph):
    weights = [{} for _ in range(graph.num_nodes)]
    for u, v in graph.edges.tolist():
        weights[u][v] = weights[v][u] = 1.0
    found, is_better = graphs._local_moves(weights, [0.0] * graph.num_nodes, rng())
    assert is_better
    reached = modularity(graph.num_nodes, graph.edges, found)
    for u in range(graph.num_nodes):
        for c in set(found[list(weights[u])]):
            other = found.copy()
            other[u] = c
            assert modularity(graph.num_nodes, graph.edges, other) <= reached + 1e-9
    # Merging communities as nodes never loses what was reached.
    final = graphs.louvain(graph.num_nodes, graph.edges, rng())
    assert modularity(graph.num_nodes, graph.edges, final) >= reached - 1e-12


def test_clients_share_all_nodes_about_equally():
    edges = ring_of_cliques(6, 40)
    graph = graphs.Graph(sp.csr_matrix((240, 1)), edges, np.zeros(240, dtype=int))
    cut = graphs.cut_into_clients(graph, 5, rng(), slack=8)
    assert sorted(np.concatenate(cut)) == list(range(240))
    assert max(map(len, cut)) <= 48 + 8
    assert min(map(len, cut)) >= 48 - 4 * 8
    # Cliques stay together.
    owner = np.empty(240, dtype=int)
    for number, nodes in enumerate(cut):
        owner[nodes] = number
    assert np.all(owner.reshape(40, 6) == owner[::6, None])


def test_a_community_too_large_for_a_client_is_cut():
    u, v = np.triu_indices(50, 1)
    edges = np.stack([u, v], axis=1)
    graph = graphs.Graph(sp.csr_matrix((50, 1)), edges, np.zeros(50, dtype=int))
    cut = graphs.cut_into_clients(graph, 5, rng(), slack=2)
    # Pieces of 8, 8, 8, 8, 8, 8 and 2 nodes; the sixth fits nowhere within 10 + 2.
    assert sorted(map(len, cut)) == [8, 8, 8, 10, 16]


def test_nodes_are_drawn_by_class():
    labels = np.array([0] * 10 + [1] * 3 + [-1] * 4 + [2] * 8)
    train, val, test = graphs.split_nodes(labels, 5, 4, rng())
    assert np.bincount(labels[train]).tolist() == [5, 3, 5]
    assert len(val) == 4
    everything = np.concatenate([train, val, test])
    assert sorted(everything) == np.flatnonzero(labels >= 0).tolist()


# The script, at a toy size.


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Write three small graphs, and return a function that runs the script on them."""
    monkeypatch.setattr(
        script,
        "LEVELS",
        (
            {"dropout": (0.0, 0.5), "lr": (0.1, 1.0), "step": (1,), "wd": (0.0,)},
            {"dropout": (0.0, 0.5), "lr": (0.1, 1.0), "step": (1, 2), "wd": (0.0,)},
        ),
    )
    for number, name in enumerate(script.GRAPHS):
        g = planted(seed=number)
        np.savez(
            tmp_path / f"planetoid_{name}.npz",
            x_data=g.features.data,
            x_indices=g.features.indices,
            x_indptr=g.features.indptr,
            x_shape=np.array(g.features.shape),
            edges=g.edges.astype(np.int32),
            y=g.labels.astype(np.int8),
        )
        monkeypatch.setitem(script.NUM_TRAIN_PER_CLASS_AND_VAL, name, (12, 20))

    def run(*words):
        files = ["--work", tmp_path / "work.jsonl", "--table", tmp_path / "t.csv"]
        words = ["--data", tmp_path, "--rounds", 3, *files, *words]
        monkeypatch.setattr(sys, "argv", ["fedhpo_table.py", *map(str, words)])
        assert script.main() == 0
        return capsys.readouterr().out

    return run


def test_the_script_goes_on_where_it_was_stopped(run, tmp_path):
    work, table = tmp_path / "work.jsonl", tmp_path / "t.csv"
    assert "24 trainings are missing" in run("--minutes", 0)
    assert not table.exists()
    assert "Written" in run("--level", 0)
    first = read_trained(table)
    assert first["cora"].seeds == (1, 2)
    whole = work.read_text()
    assert len(whole.splitlines()) == 3 * 4 * 2
    # A stop in the middle of a line, after five trainings.
    lines = whole.splitlines(keepends=True)
    work.write_text("".join(lines[:5]) + lines[5][:20])
    assert "Written" in run("--level", 0)
    again = [json.loads(line) for line in work.read_text().splitlines()[6:]]
    for row, line in zip(again, lines[5:], strict=True):
        expected = json.loads(line)
        assert row | {"seconds": 0} == expected | {"seconds": 0}
    # The finer level holds the coarse one, which is not trained again.
    assert run("--level", 1).count("rounds") == 3 * 4 * 2
    finer = read_trained(table)
    for name in script.GRAPHS:
        coarse, fine = first[name].validation.scores, finer[name].validation.scores
        assert set(fine) == {(1, 0.0), (2, 0.0)}
        assert np.array_equal(fine[1, 0.0], coarse[1, 0.0])
    assert "Regenerated" in table.read_text().splitlines()[0]


def test_short_trials_stay_out_of_the_real_work(monkeypatch, tmp_path, capsys):
    words = ["fedhpo_table.py", "--data", str(tmp_path), "--rounds", "3"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        script.main()
    assert "--work" in capsys.readouterr().err
