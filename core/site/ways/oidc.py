"""Any issuer of OpenID Connect: its metadata, the code flow with PKCE, and an ID token that its keys have signed."""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import ClaimError, JoseError
from joserfc.jwk import KeySet

from core.base.names import usable_name
from core.base.site.ways import PREFERRED, OidcIssuer
from core.site.accounts import ProvenPerson, SignInError
from core.site.browser import Visit, same
from core.site.tables import SUBJECT_LETTERS
from core.site.ways.oauth import NO_ANSWER, Requests, asked, basic, code_of, text_of, verifier

KIND: Final = "oidc"
METADATA_S: Final = 3600.0
KEYS_S: Final = 60.0
"""Seconds between two looks at an issuer's keys, where a token names an unknown one."""
LEEWAY_S: Final = 60
ALGORITHMS: Final = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
]
"""Signatures by a private key only: an issuer's public key, or this client's secret, signs nothing."""
NOT_PROVEN: Final = ("away", "The other site has proven nothing. Try again, or ask the organiser.")
TIMES: Final = ("exp", "iat", "nbf")
CLOCKS: Final = ("away", "The clock of this site, or of the other one, is wrong. Ask the organiser.")
ORGANISATIONS_MAX: Final = 1000


class OpenIdConnect:
    """Lets an issuer say who somebody is.

    Args:
        name: The way's, a part of addresses here.
        settings: The issuer, and this site as it knows it.
        requests: Asks it.
        clock: Seconds, of a clock that only goes on.
        now: Unix seconds.
    """

    def __init__(
        self,
        name: str,
        settings: OidcIssuer,
        requests: Requests,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._name = name
        self._settings = settings
        self._requests = requests
        self._clock = clock
        self._now = now
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def address(self, visit: Visit, back: str) -> str:
        """The issuer's page for people; see `RedirectWay`."""
        where = _endpoint(await self._known(), "authorization_endpoint", self._settings.issuer)
        query = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": back,
            "scope": " ".join(self._settings.scopes),
            "nonce": self._nonce(visit),
            **asked(self._name, visit),
        }
        return f"{where}{'&' if urlsplit(where).query else '?'}{urlencode(query)}"

    async def identity(self, query: Mapping[str, str], visit: Visit, back: str) -> ProvenPerson:
        """Who the issuer says it is; see `RedirectWay`."""
        known, issuer = await self._known(), self._settings.issuer
        says_issuer = known.get("authorization_response_iss_parameter_supported") is True
        code = code_of(self._name, query, visit, issuer, says_issuer=says_issuer)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "code_verifier": verifier(self._name, visit),
        }
        methods = known.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        headers, client, secret = {}, self._settings.client_id, self._settings.client_secret
        if secret and "client_secret_basic" in methods:
            headers["Authorization"] = basic(client, secret)
        else:
            form |= {"client_id": client, **({"client_secret": secret} if secret else {})}
        tokens = await self._requests.json(_endpoint(known, "token_endpoint", issuer), form=form, headers=headers)
        claims = await self._claims(text_of(tokens, "id_token"), visit)
        subject = text_of(claims, "sub")
        if not 0 < len(subject) <= SUBJECT_LETTERS:
            raise SignInError(*NOT_PROVEN)
        more = {}
        if "userinfo_endpoint" in known and (access := text_of(tokens, "access_token")):
            bearer = {"Authorization": f"Bearer {access}"}
            more = await self._requests.json(_endpoint(known, "userinfo_endpoint", issuer), headers=bearer)
            if text_of(more, "sub") != subject:
                raise SignInError(*NOT_PROVEN)
        said = {**more, **claims}
        login = text_of(said, PREFERRED, "nickname")
        chosen = text_of(said, PREFERRED) if self._settings.match == PREFERRED else ""
        name = usable_name(login) or usable_name(text_of(said, "name")) or "A volunteer"
        return ProvenPerson(KIND, issuer, subject, name, (chosen,) if chosen else (), _organisations(said))

    def _nonce(self, visit: Visit) -> str:
        return visit.derived(f"nonce {self._name}")

    async def _claims(self, token: str, visit: Visit) -> dict[str, Any]:
        """What a token says that the issuer has signed for this attempt."""
        claims = await self._decoded(token, newer=False)
        registry = jwt.JWTClaimsRegistry(
            now=int(self._now()),
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.client_id},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True},
        )
        try:
            registry.validate(claims)
        except ClaimError as error:
            raise SignInError(*(CLOCKS if error.claim in TIMES and claims.get(error.claim) else NOT_PROVEN)) from error
        party = claims.get("azp", self._settings.client_id)
        if not same(str(claims["nonce"]), self._nonce(visit)) or party != self._settings.client_id:
            raise SignInError(*NOT_PROVEN)
        return claims

    async def _decoded(self, token: str, *, newer: bool) -> dict[str, Any]:
        """The claims of a token, whose key may be one that the issuer has had for a moment only."""
        keys = await self._signers(newer=newer)
        try:
            return dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            if not newer and self._keys is not None and self._clock() - self._keys[0] > KEYS_S:
                return await self._decoded(token, newer=True)
            raise SignInError(*NOT_PROVEN) from error

    async def _signers(self, *, newer: bool) -> KeySet:
        if self._keys is None or newer:
            where = _endpoint(await self._known(), "jwks_uri", self._settings.issuer)
            found = await self._requests.json(where)
            try:
                keys = KeySet.import_key_set({"keys": _signing(found)})
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise SignInError(*NO_ANSWER) from error
            self._keys = self._clock(), keys
        return self._keys[1]

    async def _known(self) -> dict[str, Any]:
        """The issuer's metadata, which has to name the issuer that was asked."""
        if self._metadata is None or self._clock() - self._metadata[0] > METADATA_S:
            issuer = self._settings.issuer
            found = await self._requests.json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != issuer:
                raise SignInError(*NO_ANSWER)
            self._metadata = self._clock(), found
        return self._metadata[1]


def _endpoint(known: Mapping[str, Any], name: str, issuer: str) -> str:
    """An address of the issuer's; none without TLS, unless the issuer itself is on this computer."""
    address = text_of(known, name)
    if not address.startswith(("https://", f"{issuer.rstrip('/')}/")):
        raise SignInError(*NO_ANSWER)
    return address


def _signing(found: Mapping[str, Any]) -> list[Any]:
    keys = found["keys"]
    return [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") in {"RSA", "EC", "OKP"}]


def _organisations(said: Mapping[str, Any]) -> tuple[str, ...]:
    """What somebody is a member of: names, or objects with a name, as Hugging Face has them."""
    found = [*(said.get("orgs") or ()), *(said.get("groups") or ())][:ORGANISATIONS_MAX]
    names = (text_of(one, "preferred_username", "name") if isinstance(one, dict) else one for one in found)
    return tuple(name for name in names if isinstance(name, str) and name)
