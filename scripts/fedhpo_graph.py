"""The graphs of the problem fedhpo, cut into the parts of five clients.

The cutting follows FedHPO-Bench: communities by Louvain's method (Blondel et al.,
2008), those too large for a client cut, then dealt to the clients by decreasing size.

References:
    Z. Wang et al., FedHPO-Bench, ICML 2023.
    V. Blondel et al., Journal of Statistical Mechanics (2008) P10008.
"""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

NUM_TRAIN_PER_CLASS_AND_VAL = {
    "cora": (232, 542),
    "citeseer": (332, 665),
    "pubmed": (3943, 3943),
}


class Graph(NamedTuple):
    """Documents with their words, class and citations."""

    features: sp.csr_matrix
    """A row a node, as published: neither scaled nor normalised."""
    edges: np.ndarray
    """Pairs of nodes, each undirected edge once and no loops."""
    labels: np.ndarray
    """Class of each node, -1 where there is none."""

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.labels)


class Split(NamedTuple):
    """Nodes by what they are for."""

    train: np.ndarray
    val: np.ndarray
    test: np.ndarray


class Part(NamedTuple):
    """What a two-layer network needs to know of a graph to score some of its nodes.

    Of the normalised adjacency A only the rows are kept that reach those nodes.
    """

    features: sp.csr_matrix
    """Features of all nodes within two edges."""
    first: sp.csr_matrix
    """From those nodes to the ones within one edge."""
    wide: sp.csr_matrix
    """The same, from all nodes of the whole graph."""
    second: sp.csr_matrix
    """From these to the nodes that are scored."""
    labels: np.ndarray
    """Classes of the nodes that are scored."""


def read_graph(path: Path) -> Graph:
    """Read one of the files planetoid_NAME.npz."""
    with np.load(path) as f:
        x = sp.csr_matrix(
            (f["x_data"], f["x_indices"], f["x_indptr"]), shape=tuple(f["x_shape"])
        )
        return Graph(x, f["edges"].astype(np.int64), f["y"].astype(np.int64))


def split_nodes(
    labels: np.ndarray, per_class: int, num_val: int, rng: np.random.Generator
) -> Split:
    """Draw so many training nodes a class (or all it has), then validation; rest test.

    Nodes without a class are in none of the three.
    """
    train = np.concatenate(
        [
            rng.permutation(np.flatnonzero(labels == c))[:per_class]
            for c in range(labels.max() + 1)
        ]
    )
    is_left = labels >= 0
    is_left[train] = False
    rest = rng.permutation(np.flatnonzero(is_left))
    return Split(np.sort(train), np.sort(rest[:num_val]), np.sort(rest[num_val:]))


def adjacency(num_nodes: int, edges: np.ndarray, dtype: type = np.float32):
    """Return D^-1/2 (A + I) D^-1/2, with D the degrees of A + I."""
    u, v = edges.T
    loops = np.arange(num_nodes)
    rows, columns = np.r_[u, v, loops], np.r_[v, u, loops]
    a = sp.csr_matrix((np.ones(len(rows)), (rows, columns)), (num_nodes, num_nodes))
    scale = sp.diags(np.asarray(a.sum(axis=1)).ravel() ** -0.5)
    return sp.csr_matrix(scale @ a @ scale, dtype=dtype)


def make_part(graph: Graph, nodes: np.ndarray, scored: np.ndarray, dtype=np.float32):
    """Return the subgraph of some nodes as a part that scores some of these.

    Args:
        graph: The whole graph.
        nodes: Nodes of the subgraph, each once.
        scored: Nodes to score; those outside the subgraph are left out.
        dtype: Type of the numbers.
    """
    place = np.full(graph.num_nodes, -1)
    place[nodes] = np.arange(len(nodes))
    ends = place[graph.edges]
    a = adjacency(len(nodes), ends[(ends >= 0).all(axis=1)], dtype)
    scored = scored[place[scored] >= 0]
    second = a[place[scored]]
    near = np.unique(second.indices)
    first = a[near]
    far = np.unique(first.indices)
    x = sp.csr_matrix(graph.features[nodes[far]], dtype=dtype)
    wide = sp.csr_matrix(
        (first.data, nodes[first.indices], first.indptr), (len(near), graph.num_nodes)
    )
    return Part(
        x,
        sp.csr_matrix(first[:, far]),
        wide,
        sp.csr_matrix(second[:, near]),
        graph.labels[scored],
    )


def cut_into_clients(
    graph: Graph, num_clients: int, rng: np.random.Generator, slack: int = 20
) -> list[np.ndarray]:
    """Return the nodes of each client: whole communities where they have room."""
    share = graph.num_nodes // num_clients
    slack = min(slack, share // 2)
    communities = louvain(graph.num_nodes, graph.edges, rng)
    pieces: list[np.ndarray] = []
    for c in range(communities.max() + 1):
        nodes = np.flatnonzero(communities == c)
        pieces += np.split(nodes, range(share - slack, len(nodes), share - slack))
    clients: list[list[np.ndarray]] = [[] for _ in range(num_clients)]
    sizes = np.zeros(num_clients, dtype=int)
    turn = 0
    for piece in sorted(pieces, key=len, reverse=True):
        order = (turn + np.arange(num_clients)) % num_clients
        fits = order[sizes[order] + len(piece) <= share + slack]
        # Where none has room, the smallest takes it: nobody is left out.
        owner = int(fits[0]) if len(fits) else int(np.argmin(sizes))
        clients[owner].append(piece)
        sizes[owner] += len(piece)
        turn = owner + 1
    return [np.sort(np.concatenate(c)) for c in clients]


def louvain(num_nodes: int, edges: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return each node's community, from 0, by moves that raise the modularity."""
    weights: list[dict[int, float]] = [{} for _ in range(num_nodes)]
    for u, v in edges.tolist():
        weights[u][v] = weights[v][u] = 1.0
    loops = [0.0] * num_nodes
    belongs = np.arange(num_nodes)
    while True:
        moved, is_better = _local_moves(weights, loops, rng)
        if not is_better:
            return belongs
        names, moved = np.unique(moved, return_inverse=True)
        belongs = moved[belongs]
        weights, loops = _merged(weights, loops, moved.tolist(), len(names))


def _local_moves(
    weights: list[dict[int, float]], loops: list[float], rng: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Move nodes to the neighbouring community with the largest gain until none gains.

    A loop weighs twice in a degree, as both of its ends are at the node.
    """
    degree = [
        sum(w.values()) + 2.0 * loop for w, loop in zip(weights, loops, strict=True)
    ]
    total = sum(degree)
    home = list(range(len(weights)))
    mass = degree.copy()
    is_better = False
    while True:
        gained = 0
        for u in rng.permutation(len(weights)).tolist():
            links: defaultdict[int, float] = defaultdict(float)
            for v, w in weights[u].items():
                links[home[v]] += w
            old, k = home[u], degree[u]
            mass[old] -= k
            best, most = old, links[old] - k * mass[old] / total + 1e-9
            for c, w in links.items():
                gain = w - k * mass[c] / total
                if gain > most:
                    best, most = c, gain
            mass[best] += k
            home[u] = best
            gained += best != old
        is_better = is_better or gained > 0
        if not gained:
            return np.array(home), is_better


def _merged(
    weights: list[dict[int, float]], loops: list[float], home: list[int], count: int
) -> tuple[list[dict[int, float]], list[float]]:
    """Return the graph whose nodes are the communities."""
    new: list[dict[int, float]] = [{} for _ in range(count)]
    inner = [0.0] * count
    for u, row in enumerate(weights):
        a = home[u]
        inner[a] += loops[u]
        for v, w in row.items():
            b = home[v]
            if a == b:
                inner[a] += w / 2.0
            else:
                new[a][b] = new[a].get(b, 0.0) + w
    return new, inner
