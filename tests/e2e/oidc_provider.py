"""A small OpenID Connect provider on loopback: no password, two buttons, and faults on demand.

    with OidcProvider("studio", "the client's secret") as provider:
        provider.redirect_uri = "http://127.0.0.1:8501/oauth2callback"
        ...                                     # the studio's secrets name provider.metadata_url
        assert provider.refused == []           # what the studio asked was as the standard wants it

Its address has another host name than the studio's, so that a browser takes the two for different sites.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

PEOPLE = {
    "Anna": {"sub": "anna-1", "name": "Anna", "email": "anna@example.org"},
    "Ben": {"sub": "ben-2", "name": "Ben", "email": "ben@example.org"},
}
WANTED = {"response_type": "code", "code_challenge_method": "S256"}


class _Refused(Exception):
    """A request that is not as the standard, or the registration, wants it."""


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Faults:
    """What is wrong with the tokens that the provider gives."""

    other_key: bool = False
    unsigned: bool = False
    claims: Mapping[str, Any] = field(default_factory=dict)


class OidcProvider:
    """The provider: discovery, keys, authorization code with PKCE, tokens, and the end of a session.

    Parameters
    ----------
    client_id, client_secret : str
        Of the only client.

    Attributes
    ----------
    redirect_uri : str
        The client's, to be set.
    people : dict of str to dict
        What tokens say of each.
    faults : Faults
    holds : bool
        Whether people are kept here after they chose; `held` is where the last one would have gone.
    refused : list of str
        What was wrong with requests.
    """

    def __init__(self, client_id: str, client_secret: str) -> None:
        self.client_id, self.client_secret = client_id, client_secret
        self.redirect_uri = ""
        self.people = {name: dict(claims) for name, claims in PEOPLE.items()}
        self.faults = Faults()
        self.holds, self.held = False, ""
        self.refused: list[str] = []
        self._asked: dict[str, dict[str, str]] = {}
        self._codes: dict[str, tuple[dict[str, str], str]] = {}
        self._key, self._other_key = _new_key(), _new_key()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"provider": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> OidcProvider:
        self._thread.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @property
    def issuer(self) -> str:
        """The provider's address."""
        return f"http://localhost:{self._server.server_address[1]}"

    @property
    def metadata_url(self) -> str:
        """Where its discovery document is."""
        return f"{self.issuer}/.well-known/openid-configuration"

    def metadata(self) -> dict[str, Any]:
        """Return the discovery document."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "end_session_endpoint": f"{self.issuer}/logout",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }

    def keys(self) -> dict[str, Any]:
        """Return the public key that tokens are signed by."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "first", "use": "sig", "alg": "RS256"}
        return {"keys": [key | {"n": _number(numbers.n), "e": _number(numbers.e)}]}

    def ask(self, query: dict[str, str]) -> str:
        """Return the page that asks who logs in."""
        self._same(query, WANTED | {"client_id": self.client_id, "redirect_uri": self.redirect_uri})
        for name in ("state", "nonce", "code_challenge"):
            if len(query.get(name, "")) < 16:
                raise _Refused(f"{name} is missing or short")
        if "openid" not in query.get("scope", "").split():
            raise _Refused("scope is without openid")
        asked = secrets.token_urlsafe(8)
        self._asked[asked] = query
        buttons = "".join(f"<button name=who value={name}>{name}</button>" for name in [*self.people, "Cancel"])
        return (
            "<!doctype html><title>Provider</title><h1>Who are you?</h1>"
            f"<form action=/choose><input type=hidden name=asked value={html.escape(asked)}>{buttons}</form>"
        )

    def choose(self, query: dict[str, str]) -> str:
        """Return the address of the client to which a person goes back."""
        asked, who = self._asked.pop(query.get("asked", ""), None), query.get("who", "")
        if asked is None:
            raise _Refused("nobody asked for that")
        back = {"state": asked["state"]}
        if who == "Cancel":
            back |= {"error": "access_denied", "error_description": "<script>window.poisoned=1</script>"}
        else:
            back["code"] = secrets.token_urlsafe(16)
            self._codes[back["code"]] = asked, who
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any]:
        """Return the tokens for a code, which can be used once."""
        kind, _, given = authorization.partition(" ")
        name, _, secret = base64.b64decode(given).decode().partition(":")
        if kind != "Basic" or (unquote(name), unquote(secret)) != (self.client_id, self.client_secret):
            raise _Refused("not the client's secret")
        if (kept := self._codes.pop(form.get("code", ""), None)) is None:
            raise _Refused("not a code, or one that was used")
        asked, who = kept
        self._same(form, {"grant_type": "authorization_code", "redirect_uri": asked["redirect_uri"]})
        challenge = _text(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not hmac.compare_digest(challenge, asked["code_challenge"]):
            raise _Refused("not the verifier of the challenge")
        return {
            "access_token": secrets.token_urlsafe(16),
            "token_type": "Bearer",
            "expires_in": 300,
            "id_token": self._id_token(self.people[who], asked["nonce"]),
        }

    def end(self, query: dict[str, str]) -> str:
        """Return where a person goes after the session's end."""
        self._same(query, {"client_id": self.client_id, "post_logout_redirect_uri": self.redirect_uri})
        if not query.get("id_token_hint"):
            raise _Refused("whose session?")
        return self.redirect_uri

    def _id_token(self, person: Mapping[str, Any], nonce: str) -> str:
        now, faults = int(time.time()), self.faults
        claims = {"iss": self.issuer, "aud": self.client_id, "iat": now, "exp": now + 300, "nonce": nonce}
        header = {"alg": "none"} if faults.unsigned else {"alg": "RS256", "kid": "first"}
        parts = [_text(json.dumps(part).encode()) for part in (header, claims | person | faults.claims)]
        signed = ".".join(parts).encode()
        key = self._other_key if faults.other_key else self._key
        return f"{signed.decode()}.{'' if faults.unsigned else _text(key.sign(signed, padding.PKCS1v15(), SHA256()))}"

    @staticmethod
    def _same(given: Mapping[str, str], wanted: Mapping[str, str]) -> None:
        for name, value in wanted.items():
            if given.get(name) != value:
                raise _Refused(f"{name} is {given.get(name)!r}, not {value!r}")


class _Handler(BaseHTTPRequestHandler):
    provider: OidcProvider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query, provider = dict(parse_qsl(parts.query)), self.provider
        try:
            if parts.path == "/.well-known/openid-configuration":
                self._send(json.dumps(provider.metadata()), "application/json")
            elif parts.path == "/keys":
                self._send(json.dumps(provider.keys()), "application/json")
            elif parts.path == "/authorize":
                self._send(provider.ask(query), "text/html")
            elif parts.path == "/choose" and provider.holds:
                provider.held = provider.choose(query)
                self._send("<!doctype html><title>Provider</title><h1>Held</h1>", "text/html")
            elif parts.path == "/choose":
                self._go(provider.choose(query))
            elif parts.path == "/logout":
                self._go(provider.end(query))
            else:
                self._send("", "text/plain", 404)  # a browser asks for an icon
        except _Refused as error:
            self._refuse(error)

    def do_POST(self) -> None:
        form = dict(parse_qsl(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()))
        try:
            if self.path != "/token":
                raise _Refused(f"POST {self.path}")
            given = self.provider.token(form, self.headers.get("Authorization", ""))
        except (_Refused, ValueError) as error:
            self._refuse(error)
        else:
            self._send(json.dumps(given), "application/json")

    def _refuse(self, error: Exception) -> None:
        self.provider.refused.append(str(error))
        self._send(json.dumps({"error": "invalid_request", "error_description": str(error)}), "application/json", 400)

    def _go(self, address: str) -> None:
        self.send_response(302)
        self.send_header("Location", address)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send(self, content: str, kind: str, status: int = 200) -> None:
        raw = content.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
