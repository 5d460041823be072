"""Which settings make a difference to which method."""

from types import MappingProxyType

from guidefbo.methods.catalog import Method

OF_ALL = frozenset({"fit", "num_raw", "num_starts", "num_iterations"})
"""Settings of the model and of the search, which every method has."""
OF_GUIDANCE = frozenset({"intervention", "schedule", "max_strength"})
"""Settings of whoever widens the uncertainty."""
OF_RULE = MappingProxyType(
    {
        "ts": frozenset({"mode", "num_features"}),
        "ucb": frozenset({"beta"}),
        "nei": frozenset({"num_fantasies"}),
        "ei": frozenset[str](),
    }
)
OF_STRATEGY = MappingProxyType(
    {
        "independent": frozenset[str](),
        "fts": frozenset({"mode", "num_shared"}),
        "fts-de": frozenset(
            {
                "mode",
                "num_shared",
                "num_regions",
                "privacy",
                "privacy_clip",
                "privacy_rate",
                "privacy_noise",
            }
        ),
        "fmtbo": frozenset(
            {
                "mode",
                "ei_weight",
                "similar_share",
                "num_probes",
                "share",
                "global_iterations",
            }
        ),
        "cgp": frozenset({"group_size", "max_models", "num_draws"}),
        "guide": OF_GUIDANCE
        | {
            "num_paths",
            "num_features",
            "num_candidates",
            "max_components",
            "lcb_coefficient",
            "merge_threshold",
            "packet_size",
            "sampler",
            "belief",
            "covariance",
            "merging",
            "reweighting",
            "dispatch",
        },
        "consensus": OF_GUIDANCE - {"schedule"}
        | {
            "lcb_coefficient",
            "place",
            "fusion",
            "groups",
            "min_spread",
            "aim",
            "consensus_schedule",
            "lie",
            "num_liars",
        },
        "placebo": OF_GUIDANCE,
    }
)


def used_settings(method: Method) -> frozenset[str]:
    """Return the settings a method reads; whatever else is set changes no run of it."""
    return OF_ALL | OF_RULE[method.rule] | OF_STRATEGY[method.strategy]
