"""The commands of `cox`, put together, and what happens when one fails.

An InputError is the user's to mend: its one sentence goes to standard error and the exit code is 2. Anything else is a
defect of ours and keeps its traceback.
"""

import sys
from typing import Annotated

import typer

from coxswain import __version__
from coxswain.cli.analyze import analyze
from coxswain.cli.backtest import backtest
from coxswain.cli.design import design
from coxswain.cli.explain import explain
from coxswain.cli.fit import fit
from coxswain.cli.ledger import app as ledger
from coxswain.cli.plan import plan
from coxswain.cli.predict import predict
from coxswain.cli.queue import queue
from coxswain.cli.run import run
from coxswain.cli.whatif import whatif
from coxswain.core.errors import InputError

app = typer.Typer(
    name="cox",
    help="Design, run and analyse training experiments; forecast and steer training jobs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cox {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version and end.")
    ] = False,
) -> None:
    """Design, run and analyse training experiments; forecast and steer training jobs."""


app.command()(analyze)
app.command()(backtest)
app.command()(design)
app.command()(explain)
app.command()(fit)
app.add_typer(ledger, name="ledger")
app.command()(plan)
app.command()(predict)
app.command()(queue)
app.command()(run)
app.command()(whatif)


def main() -> None:
    """Run `cox` with the arguments of this process."""
    try:
        app()
    except InputError as error:
        print(f"cox: {error}", file=sys.stderr)
        sys.exit(2)
