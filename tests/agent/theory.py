"""The paper's guarantees as numbers: what a run may cost, and what a bad query needs.

Both hold while the confidence event does, |f(x) - mean(x)| <= √β std(x) at every point
and in every round, for a kernel with k(x, x) <= 1 and a guidance field 0 <= G <= G_max.

References:
    Srinivas et al., Gaussian process optimization in the bandit setting, ICML 2010.
"""

from math import log, log1p, sqrt


def regret_bound(
    *,
    num_rounds: int,
    beta: float,
    information_gain: float,
    noise_variance: float,
    max_strength: float,
    max_field: float = 1.0,
) -> float:
    """Return the bound of Theorem 1 on the cumulative regret of one agent.

    With C = 2 / log(1 + 1/noise) and λ_t = λ_max / √t,

        R_T <= √(β C γ) √(4T + 4 λ_max G_max (2√T - 1) + λ_max² G_max² (1 + log T)).

    Args:
        num_rounds: T, at least 1.
        beta: Confidence parameter of the last round, positive.
        information_gain: γ, ½ log det(I + K/noise) of the queries or its maximum over
            all sets of T queries.
        noise_variance: Noise variance of the model, positive.
        max_strength: λ_max, at least 0.
        max_field: G_max, largest value the guidance field can take.
    """
    T, guidance = num_rounds, max_strength * max_field
    C = 2.0 / log1p(1.0 / noise_variance)
    rounds = 4.0 * T
    rounds += 4.0 * guidance * (2.0 * sqrt(T) - 1.0)
    rounds += guidance**2 * (1.0 + log(T))
    return sqrt(beta * C * information_gain) * sqrt(rounds)  # E36


def selection_threshold(
    *,
    gap: float,
    beta: float,
    strength: float,
    field_at_query: float,
    field_at_optimum: float,
    std_at_optimum: float,
) -> float:
    """Return the least posterior std with which a suboptimal point can be selected.

    Proposition 1: a query x with gap Δ = f(x*) - f(x) > 0 has

        std(x) >= (Δ + λ √β G(x*) std(x*)) / (√β (2 + λ G(x))).

    Args:
        gap: Δ, positive for a suboptimal query.
        beta: Confidence parameter of the round, positive.
        strength: λ of the round, at least 0.
        field_at_query: G at the query.
        field_at_optimum: G at the optimum.
        std_at_optimum: Posterior standard deviation at the optimum.
    """
    root = sqrt(beta)
    pull = strength * root * field_at_optimum * std_at_optimum
    return (gap + pull) / (root * (2.0 + strength * field_at_query))  # E37
