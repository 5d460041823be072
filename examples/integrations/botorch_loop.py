"""Three sites with BoTorch loops of their own, guided by each other.

Model, acquisition and optimiser are BoTorch's, as a user has them. The agent beside the
loop keeps the results, makes the message from the *user's* fitted model and holds the
answer; `decision` turns it into what an acquisition takes. Here `gf.merge` is the
coordinator; over a network it is `gf.connect`.

    pip install torch==2.13.0
    pip install 'guidefbo[botorch]'
    python examples/integrations/botorch_loop.py
"""

import warnings

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from gpytorch.mlls import ExactMarginalLogLikelihood

import guidefbo as gf
from guidefbo.integrations import botorch as gfb

SPACE = gf.Space(heat=gf.Float(150, 250), dose=gf.Float(0.1, 10, log=True))
SITES = {"north": 0.0, "south": 0.08, "west": -0.06}
NUM_ROUNDS = 6


def measure(values, shift):
    """Return a site's yield: a formula in the place of an experiment."""
    x = SPACE.to_unit(values)
    return float(80.0 - 60.0 * ((x - [0.7 + shift, 0.3 - shift]) ** 2).sum())


def fit(agent):
    """Return the user's own model of a site's results."""
    X, Y = gfb.data(agent)
    model = SingleTaskGP(X, Y, covar_module=gfb.matern(X.shape[-1]))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def choose(agent, model, seed):
    """Return the next point, by the user's own acquisition under guidance."""
    decided, transform = gfb.decision(agent, model)
    acquisition = qLogNoisyExpectedImprovement(
        decided,
        gfb.data(agent)[0],
        sampler=SobolQMCNormalSampler(torch.Size([64]), seed=seed),
        posterior_transform=transform,
    )
    x, _ = optimize_acqf(
        acquisition, gfb.cube(agent), q=1, num_restarts=4, raw_samples=32
    )
    return gfb.begin(agent, x)


def main():
    """Run a few rounds and print what each site has reached."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    agents = {
        site: gf.Agent(
            SPACE, goal="max", method="shape-nei", seed=k, initial=5, site=site
        )
        for k, site in enumerate(SITES)
    }
    for site, agent in agents.items():
        for trial in agent.ask(5):
            agent.tell(trial, measure(trial.values, SITES[site]))
    for t in range(1, NUM_ROUNDS + 1):
        models = {site: fit(agent) for site, agent in agents.items()}
        uploads = {site: gfb.upload(agents[site], models[site]) for site in SITES}
        for site, packet in gf.merge(uploads, t=t).items():
            agents[site].receive(packet)
        for site, agent in agents.items():
            trial = choose(agent, models[site], seed=t)
            agent.tell(trial, measure(trial.values, SITES[site]))
    for site, agent in agents.items():
        best = max(trial.value for trial in agent.trials)
        print(f"{site}: best yield {best:.2f} of 80, {agent.guidance}")


if __name__ == "__main__":
    main()
