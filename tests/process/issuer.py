"""An issuer of OpenID Connect, and GitHub's addresses beside it: real keys, real codes, and lies where a test asks."""

import base64
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlencode

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

KEY = RSAKey.generate_key(2048, parameters={"kid": "one"})
OTHER_KEY = RSAKey.generate_key(2048, parameters={"kid": "one"})
NOW = 1_795_676_400.0
CLIENT, SECRET = "potluck site", "a secret of forty letters, as issuers give"


@dataclass
class TestIssuer:
    """Says of each visitor that it is `subject`; what it says of that can be changed.

    Attributes:
        claims: Put over those of the token; None: left out.
        algorithm: By which tokens are signed.
        refused: Codes that were asked for in vain.
    """

    __test__ = False
    subject: str = "17"
    login: str = "Ada"
    orgs: list[Any] = field(default_factory=list)
    claims: dict[str, Any] = field(default_factory=dict)
    key: Any = field(default_factory=lambda: KEY)
    algorithm: str = "RS256"
    now: list[float] = field(default_factory=lambda: [NOW])
    metadata: dict[str, Any] = field(default_factory=dict)
    says_issuer: str = ""
    refused: int = 0
    url: str = ""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(
            [
                web.get("/.well-known/openid-configuration", self.configuration),
                web.get("/authorize", self.authorize),
                web.get("/login/oauth/authorize", self.authorize),
                web.post("/token", self.token),
                web.post("/login/oauth/access_token", self.token),
                web.get("/keys", self.keys),
                web.get("/userinfo", self.userinfo),
                web.get("/user", self.user),
            ]
        )
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self.runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.runner is not None
        await self.runner.cleanup()

    async def configuration(self, _: web.Request) -> web.Response:
        places = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        known = {f"{name}_endpoint": f"{self.url}/{path}" for name, path in places.items()}
        return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **known, **self.metadata})

    async def authorize(self, request: web.Request) -> web.Response:
        code = secrets.token_urlsafe(16)
        self.codes[code] = dict(request.query)
        back = {"code": code, "state": request.query["state"]}
        if self.says_issuer:
            back["iss"] = self.says_issuer
        raise web.HTTPFound(f"{request.query['redirect_uri']}?{urlencode(back)}")

    async def token(self, request: web.Request) -> web.Response:
        form = {name: values[0] for name, values in parse_qs((await request.read()).decode()).items()}
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if (
            asked is None
            or asked["code_challenge"] != challenge.rstrip(b"=").decode()
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            self.refused += 1
            return web.json_response({"error": "invalid_grant"}, status=400)
        now = int(self.now[0])
        claims = {"iss": self.url, "aud": CLIENT, "sub": self.subject, "exp": now + 300, "iat": now}
        claims |= {"nonce": asked.get("nonce"), "preferred_username": self.login, **self.claims}
        kept = {name: value for name, value in claims.items() if value is not None}
        token = jwt.encode({"alg": self.algorithm, "kid": "one"}, kept, self.key, algorithms=[self.algorithm])
        return web.json_response({"access_token": "a token", "token_type": "Bearer", "id_token": token})

    async def keys(self, _: web.Request) -> web.Response:
        return web.json_response({"keys": [KEY.as_dict(private=False)]})

    async def userinfo(self, _: web.Request) -> web.Response:
        return web.json_response({"sub": self.subject, "orgs": self.orgs})

    async def user(self, _: web.Request) -> web.Response:
        return web.json_response({"id": int(self.subject), "login": self.login})


def symmetric() -> OctKey:
    """The client's secret as a key: what an issuer never signs with."""
    return OctKey.import_key(SECRET)
