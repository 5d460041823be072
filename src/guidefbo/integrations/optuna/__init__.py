"""Optuna: a sampler that decides with a guidefbo agent, alone or among other sites.

    import optuna, guidefbo as gf
    from guidefbo.integrations.optuna import FederatedSampler

    study = optuna.create_study(sampler=FederatedSampler(seed=1))        # alone

    link = gf.connect("site.json", "https://host:8443", code="ABCD-EFGH")
    study = optuna.create_study(sampler=FederatedSampler(link))          # with others

The study's storage is the record. Alone, the next point depends on the study's trials
and the seed only, so that another process goes on where the first one stopped. Linked,
the results go into the agent's file as well, which never leaves the site, and what the
agent makes of them is exchanged.
"""

from guidefbo.integrations.optuna.sampler import FederatedSampler

__all__ = ["FederatedSampler"]
