"""What can go wrong when the API server is asked for something, by what to do about it.

ApiError
├── NotFound        there is no such object
├── AlreadyExists   a create met an object of the same name
├── Conflict        the object has changed since it was read: read it again and decide anew
├── Refused         the request itself was turned down (invalid, forbidden, over a quota): the same again fails
└── Unavailable     the server is busy, restarting or out of reach: the same again may well succeed
"""

import json

_EXISTS = "AlreadyExists"


class ApiError(Exception):
    """The API server did not do what it was asked to; the sentence is the server's own."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class NotFound(ApiError):  # noqa: N818 - named as the server names it
    """There is no such object."""


class AlreadyExists(ApiError):  # noqa: N818 - likewise
    """There is an object of that name already."""


class Conflict(ApiError):  # noqa: N818 - likewise
    """The object is no longer the one that was read."""


class Refused(ApiError):  # noqa: N818 - likewise
    """The request was turned down."""


class Unavailable(ApiError):  # noqa: N818 - likewise
    """The server could not answer."""


def error_of(status: int, body: str) -> ApiError:
    """The error that an answer of the server stands for."""
    try:
        document = json.loads(body)
        reason, sentence = document.get("reason"), document.get("message") or body
    except (ValueError, AttributeError):
        reason, sentence = None, body[:500]
    if status == 404:
        return NotFound(status, sentence)
    if status == 409:
        return AlreadyExists(status, sentence) if reason == _EXISTS else Conflict(status, sentence)
    if status in {408, 429} or status >= 500:
        return Unavailable(status, sentence)
    return Refused(status, sentence)
