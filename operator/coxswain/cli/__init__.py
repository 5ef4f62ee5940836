"""`cox`, what a person types; also installed as `kubectl-cox`, so that `kubectl cox` works.

Each command is a module of its own with one function; `app` puts them together. A command reads its input, calls the
core, and hands a result to `output`, which prints it as a table for people, or as JSON or CSV for programs.
"""

from coxswain.cli.app import main

__all__ = ["main"]
