"""Elements of HTML and SVG as text; what is not known to be markup is escaped, so that a name is only ever a name."""

import html


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | float) -> Markup:
    """An element; `class_` stands for class, and underscores in names for hyphens."""
    told = "".join(f' {_name(name)}="{html.escape(_text(value))}"' for name, value in attributes.items())
    return Markup(f"<{tag}{told}>{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(child if isinstance(child, Markup) else html.escape(child) for child in children))


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    """Numbers as short as a screen needs them."""
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
