"""The commands of one site: init, ask, tell, abandon, show, change.

Each call is a process of its own that holds the agent's file while it changes it.
What is heavy is imported when a command runs, so that help comes at once.
"""

import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from guidefbo.cli.speech import console, notice, print_lines, sentences
from guidefbo.methods.default import DEFAULT_METHOD

File = Annotated[Path, typer.Argument(metavar="FILE", help="The agent's file.")]
Wait = Annotated[
    float, typer.Option(help="Seconds to wait while another command uses the file.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, e.g. --set beta=2; may be repeated. "
        "See: guidefbo methods --settings.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=COLUMN",
        help="A column of the table has another name than the parameter, value, std or "
        "failed: --column value=yield; may be repeated.",
    ),
]
IgnoreExtra = Annotated[
    bool, typer.Option("--ignore-extra", help="Other columns of the table are ignored.")
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        help="Rows of the table that cannot be used are named and left out.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    app.command(
        epilog="Example: guidefbo init site.json space.toml --goal max --seed 7"
    )(init)
    app.command(epilog="Example: guidefbo ask site.json -n 3")(ask)
    app.command(
        epilog="Examples: guidefbo tell site.json 3 -0.5 --std 0.1; "
        "guidefbo tell site.json 3 70 temperature=109 5 64; "
        "guidefbo tell site.json 4 --failed 'sample lost'; "
        "guidefbo tell site.json dose=1.7,days=3,drug=a 0.83; "
        "guidefbo tell site.json --csv results.csv",
        # A negative number is no option; what is left over is checked.
        context_settings={"ignore_unknown_options": True},
    )(tell)
    app.command(epilog="Example: guidefbo abandon site.json 3")(abandon)
    app.command(epilog="Example: guidefbo show site.json --trials")(show)
    app.command(
        epilog="Examples: guidefbo change site.json --bounds temperature=30,130 "
        "--add-option catalyst=P3 --fix loading=1.0; guidefbo change site.json "
        "--without catalyst=P1-L3"
    )(change)


def init(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where the agent will live.")
    ] = None,
    space: Annotated[
        Path | None,
        typer.Argument(metavar="SPACE.toml", help="The search space; see --example."),
    ] = None,
    goal: Annotated[
        str | None, typer.Option(help="max or min. There is no default.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="Method; see: guidefbo methods.")
    ] = DEFAULT_METHOD,
    seed: Annotated[
        int,
        typer.Option(
            help="Root of all randomness. Sites with the same space and seed ask the "
            "same first questions, unless --agents interlocks them."
        ),
    ] = 0,
    noise: Annotated[
        float | None,
        typer.Option(help="Standard deviation of one observation; fitted if not said."),
    ] = None,
    initial: Annotated[
        int | None,
        typer.Option(help="Results before the model takes over; 5 to 20 if not said."),
    ] = None,
    agents: Annotated[
        int | None,
        typer.Option(help="Number of sites, if they share one seed and design."),
    ] = None,
    agent_id: Annotated[
        int | None, typer.Option(help="This site's number among them, from 0.")
    ] = None,
    expire_after: Annotated[
        int,
        typer.Option(help="A pending trial expires that many results after it is due."),
    ] = 50,
    packet_lifetime: Annotated[
        int,
        typer.Option(
            help="Guidance is stale that many results after the upload it answers."
        ),
    ] = 10,
    site: Annotated[
        str | None,
        typer.Option(
            help="Name of this site, which no other site of the federation may have; "
            "the file's name if not said."
        ),
    ] = None,
    federation: Annotated[
        str, typer.Option(help="Name of the federation, the same at all its sites.")
    ] = "default",
    overshoot: Annotated[
        float,
        typer.Option(
            help="How far beyond its bounds a parameter may have been run, as a share "
            "of its range; such a result counts at the bound."
        ),
    ] = 0.05,
    patience: Annotated[
        int,
        typer.Option(
            help="Work alone once your own data spoke against the others in so many "
            "rounds after each other, with a method that compares; 0: never."
        ),
    ] = 3,
    outcome: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="A further measured outcome with a limit, as 'impurity [%] <= 2'; may "
            "be repeated.",
        ),
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(help="Name of what is optimised, for tables and pictures."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="What it is measured in.")] = None,
    outcome_bounds: Annotated[
        str | None,
        typer.Option(
            metavar="LOW,HIGH",
            help="The least and the largest value it can have, as 0,100 or 0, for one "
            "end; pictures end there.",
        ),
    ] = None,
    set_: Settings = None,
    results: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULTS.csv",
            help="Earlier results: a column per parameter, value, perhaps std, failed.",
        ),
    ] = None,
    column: Columns = None,
    ignore_extra: IgnoreExtra = False,
    skip_bad: SkipBad = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing file.")
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Print a space file to start from.")
    ] = False,
    wait: Wait = 30.0,
) -> None:
    """Create the agent of a site: one file that holds all it knows.

    First guidefbo init --example > space.toml; edit it; then create the agent.
    """
    with sentences():
        from guidefbo.cli.create import EXAMPLE, create
        from guidefbo.cli.reading import read_ends
        from guidefbo.cli.table import Reading, read_columns
        from guidefbo.site.outcome import Outcome

        if example:
            typer.echo(EXAMPLE, nl=False)
            return
        lines = create(
            file,
            space,
            results=results,
            reading=Reading(
                columns=read_columns(column or []),
                ignores_extra=ignore_extra,
                skips_bad=skip_bad,
                repeats=True,
            ),
            force=force,
            wait=wait,
            pairs=set_ or [],
            goal=goal,
            method=method,
            seed=seed,
            noise=noise,
            initial=initial,
            num_agents=agents,
            agent_id=agent_id,
            expire_after=expire_after,
            packet_lifetime=packet_lifetime,
            site=site,
            federation=federation,
            overshoot=overshoot,
            patience=patience,
            outcomes=[Outcome.parse(text) for text in outcome or []],
            objective=objective,
            unit=unit,
            outcome_bounds=read_ends(outcome_bounds),
        )
        _say(file, f"{file} is created", *lines)


def ask(
    file: File,
    n: Annotated[int, typer.Option("-n", help="How many points at once.")] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object per line.")
    ] = False,
    sync: Annotated[
        bool,
        typer.Option(
            "--sync",
            help="Exchange with the federation first; where that fails, ask all the "
            "same.",
        ),
    ] = False,
    wait: Wait = 30.0,
) -> None:
    """Ask what to evaluate next; the points stay pending until told.

    Asking again before telling gives other points.
    """
    with sentences():
        from guidefbo.cli.asked import trial_form, trial_line
        from guidefbo.cli.opened import changing, command

        if sync:
            from guidefbo.cli.exchanged import sync_before

            sync_before(file, wait)
        with changing(file, wait) as agent:
            trials = agent.ask(n)
        labels = agent.setup.labels
        lines = [
            json.dumps(trial_form(trial)) if as_json else trial_line(trial, labels)
            for trial in trials
        ]
        ids = ", ".join(str(trial.id) for trial in trials)
        _say(file, f"asked and saved in {file}: trial {ids}", *lines)
        if not as_json:
            more = [f"{outcome.name}=VALUE" for outcome in agent.setup.outcomes]
            words = "tell", file, str(trials[0].id), "VALUE", *more
            notice(f"then tell: {command(*words)}")


def tell(
    file: File,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID VALUE [NAME=VALUE ...] ...",
            help="The trial's id, or name=value,name=value of a result of your own; "
            "the observed value, which may be negative; then outcomes with a limit, as "
            "impurity=1.4, and what was run at another value than asked, as "
            "temperature=109. Several trials may follow each "
            "other, all or none.",
        ),
    ] = None,
    std: Annotated[
        float | None, typer.Option(help="Standard deviation of the value, if known.")
    ] = None,
    failed: Annotated[
        str | None,
        typer.Option(metavar="REASON", help="There is no value, and why."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="RESULTS.csv",
            help="Results of your own, all or none: a column per parameter, value, "
            "perhaps std, failed.",
        ),
    ] = None,
    column: Columns = None,
    ignore_extra: IgnoreExtra = False,
    skip_bad: SkipBad = False,
    repeats: Annotated[
        bool,
        typer.Option(
            "--repeats", help="Rows that were told before were measured again."
        ),
    ] = False,
    outside: Annotated[
        str,
        typer.Option(
            metavar="keep|refuse",
            help="What was run a little outside its bounds (see init --overshoot) is "
            "kept, and counted at the bound, or refused.",
        ),
    ] = "keep",
    wait: Wait = 30.0,
) -> None:
    """Tell what came of trials, correct them, or bring results of your own.

    Telling a trial again corrects it; the old record is kept. Among several values one
    with a comma stands in double quotes together with its name:
    'temp=30,"solvent=1,4-dioxane"'.
    """
    with sentences():
        from guidefbo.cli.answer import check_call, tell_table, tell_words
        from guidefbo.cli.opened import changing
        from guidefbo.cli.table import Reading, read_columns

        check_call(file, words or [], std, failed, csv is not None, outside)
        reading = Reading(
            columns=read_columns(column or []),
            ignores_extra=ignore_extra,
            skips_bad=skip_bad,
            repeats=repeats,
            outside=outside,
        )
        with changing(file, wait) as agent:
            if csv is not None:
                lines = tell_table(agent, csv, reading)
            else:
                lines = tell_words(agent, words or [], std, failed, outside)
        _say(file, f"what was told is saved in {file}", *lines)


def abandon(
    file: File,
    trial_id: Annotated[str, typer.Argument(metavar="ID", help="A pending trial.")],
    wait: Wait = 30.0,
) -> None:
    """Give up a pending trial, so that its region may be asked again."""
    with sentences():
        from guidefbo.cli.opened import changing
        from guidefbo.cli.reading import read_id

        with changing(file, wait) as agent:
            trial = agent.abandon(read_id(trial_id))
        done = f"trial {trial.id} of {file} is abandoned"
        _say(file, done, f"abandoned {trial.text(agent.setup.labels)}")


def show(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    trials: Annotated[
        bool, typer.Option("--trials", help="List every trial as well.")
    ] = False,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit", help="Fit the model to what was told since the last ask; slower."
        ),
    ] = False,
) -> None:
    """Show where the agent stands; changes nothing.

    Of the model this is what it said when it was last asked for a point, with the
    results that it has not seen yet; --fit has it look at them now.
    """
    with sentences():
        from guidefbo.cli.show import print_trials, show_json, show_text
        from guidefbo.site.agent import Agent

        agent = Agent.load(file, knows_method=fit)
        unchanged = f"{file} is read and as it was"
        if as_json:
            _say(file, unchanged, show_json(agent, trials=trials, fits=fit))
            return
        _say(file, unchanged, *show_text(agent, file, fits=fit))
        if trials:
            print_trials(agent, console)


def change(
    file: File,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW,HIGH", help="New bounds of the shared space; repeatable."
        ),
    ] = None,
    add_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=OPTION", help="A new option of the shared space; repeatable."
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW,HIGH", help="Bounds that this site keeps; repeatable."
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=OPTION",
            help="An option this site lacks, beside those it already does without; "
            "repeatable.",
        ),
    ] = None,
    fix: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value this site always has, on its step or in its digits; "
            "repeatable.",
        ),
    ] = None,
    free: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Lift this site's limits; repeatable."),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            metavar="SPACE.toml",
            help="Take the bounds and options of a space file over, such as the host's "
            "after it has changed the federation's.",
        ),
    ] = None,
    wait: Wait = 30.0,
) -> None:
    """Change what is searched; results stay, later questions follow.

    New bounds and options make a new version of the space, which all sites and their
    coordinator need. What this site cannot run is its own affair: it is never asked for
    it, and exchanges as before.
    """
    with sentences():
        from guidefbo.cli.changing import change_space

        limits = (within, without, fix, free)
        lines = change_space(file, wait, bounds, add_option, *limits, like)
        _say(file, f"{file} is changed and saved", *lines)


def _say(file: Path | None, done: str, *lines: str) -> None:
    """Print lines about a file, or that they could not be, and what is done."""
    see = f"guidefbo show {shlex.quote(str(file))} --trials"
    print_lines(lines, done, see)
