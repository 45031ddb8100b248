"""Authentication: a call needs the token, as a bearer or as the password of any user."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence

import pyarrow.flight as flight

from .metrics import Metrics


class Handshake(flight.ServerAuthHandler):  # type: ignore[misc]  # pyarrow has no stubs
    """The handshake by which some clients bring user and password; `TokenFactory` has looked at its headers before."""

    def authenticate(self, outgoing: flight.ServerAuthSender, incoming: flight.ServerAuthReader) -> None:
        """Nothing is left to check."""

    def is_valid(self, token: bytes) -> bytes:
        """No identity is kept."""
        return b""


class TokenFactory(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Refuses calls that do not have the token."""

    def __init__(self, token: str, metrics: Metrics) -> None:
        super().__init__()
        self._token, self._metrics = token.encode(), metrics

    def start_call(self, info: flight.CallInfo, headers: Mapping[str, Sequence[str | bytes]]) -> Answered | None:
        for value in headers.get("authorization", ()):
            scheme, _, given = (value.decode("latin-1") if isinstance(value, bytes) else value).partition(" ")
            if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
                return None
            if scheme.lower() == "basic" and hmac.compare_digest(_password(given), self._token):
                # Clients that bring a password expect a bearer for their next calls.
                return Answered(f"Bearer {self._token.decode()}")
        self._metrics.add("refused", label="token")
        raise flight.FlightUnauthenticatedError("the token is missing or wrong: give it as bearer token, or as the password of any user")


class Answered(flight.ServerMiddleware):  # type: ignore[misc]
    """Gives the answer a header with the token."""

    def __init__(self, value: str) -> None:
        super().__init__()
        self._value = value

    def sending_headers(self) -> dict[str, str]:
        return {"authorization": self._value}


def _password(encoded: str) -> bytes:
    try:
        # Go's client leaves out the padding.
        return base64.b64decode(encoded.strip().rstrip("=") + "=" * (-len(encoded.strip().rstrip("=")) % 4), validate=True).partition(b":")[2]
    except (binascii.Error, ValueError):
        return b""
