"""Sends an exported model to the Hugging Face hub."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.base.problems import BadInput, UserProblem, quoted
from core.cli.parsing.options import Missing
from core.storage.identity import SERVICE, kept_secret, system_keyring

TOKEN: Final = "HF_TOKEN"  # noqa: S105 - the name of a variable
ENTRY: Final = "hub-token"
"""Under which the token lies in the keyring."""
_NAME: Final = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_TOKEN: Final = re.compile(r"[!-~]{1,200}")


def hub_token(repository: str, environ: Mapping[str, str]) -> str:
    """The person's token, before anything is computed for a model that could not be sent.

    Args:
        repository: Where it shall go, as OWNER/NAME.
        environ: Environment variables; the keyring is asked where they have no token.

    Raises:
        BadInput: the name is not one, or there is no token that could be.
    """
    if not _NAME.fullmatch(repository):
        raise BadInput(
            f"{quoted(repository, 80)} is not the name of a model on the hub.",
            hint="Write OWNER/NAME, such as ada/rhymes.",
        )
    token = environ.get(TOKEN, "").strip() or kept_secret(system_keyring(environ), ENTRY)
    if not token:
        raise BadInput(
            "Sending a model needs your token of the hub, and there is none.",
            hint=f"Make one with the right to write, and set {TOKEN}, or keep it: keyring set {SERVICE} {ENTRY}",
        )
    if not _TOKEN.fullmatch(token):  # errors of the library would quote it
        raise BadInput("Your token of the hub has letters that a token cannot have.", hint=f"Set {TOKEN} to it anew.")
    return token


def push(folder: Path, repository: str, token: str) -> str:
    """Send a folder to the hub, as a model that is private at first; its address.

    Args:
        folder: Its files replace those of the same names.
        repository: OWNER/NAME.
        token: The person's.

    Raises:
        Missing: huggingface_hub is not installed.
        UserProblem: the hub is not reached, or refuses; the folder stays.
    """
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - only needed here
    except ModuleNotFoundError as error:
        raise Missing(
            f"Sending a model needs {error.name}, which is not installed.",
            hint='Install it with: pip install "potluck[train]"',
        ) from error
    hub = HfApi(token=token)
    try:
        address = hub.create_repo(repository, private=True, exist_ok=True)
        hub.upload_folder(repo_id=repository, folder_path=folder, commit_message="Model trained with Potluck")
    except Exception as error:  # the library raises whatever its own HTTP client does
        why = str(error).strip().partition("\n")[0].rstrip(".")
        raise UserProblem(
            f"The model was not sent to {hub.endpoint}: {why[:200]}.",
            hint=f"The export in {folder} is whole. Check the connection and the token, then try again with --force.",
        ) from error
    return str(address)
