"""The problem tree: everything that can go wrong in a way that somebody else should hear about.

    Problem                     code, message, hint
    ├── UserProblem             a person can mend it; exit code 2 on the command line
    │   ├── BadInput            what was given cannot be used (a folder, a number, a link)
    │   ├── Busy                something of ours is already there (a second start, a taken port)
    │   ├── Damaged             a file of ours is unreadable; it was set aside
    │   ├── NoSpace             the disk is full
    │   └── NotTrusted          a signature or a pass does not hold
    ├── RemoteProblem           a peer did wrong: drop, count, never raise out of a machine
    │   ├── WireProblem         bytes that are no message
    │   └── ProofProblem        a pass, signature, nonce or time that does not hold
    └── WorkerProblem           the training process failed or ended

Our own misuse (a wrong argument in code) raises ValueError or AssertionError, which nobody catches.
"""


class Problem(Exception):  # noqa: N818 - the tree's own word
    """Something went wrong that is not a mistake in our code.

    Args:
        message: One sentence that says what is wrong.
        hint: One sentence that says what to do about it.
    """

    code = "problem"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UserProblem(Problem):
    """A person can mend this."""

    code = "user"


class BadInput(UserProblem):
    """What was given cannot be used."""

    code = "bad_input"


class Busy(UserProblem):
    """Something of ours, or of another program, already holds what is needed."""

    code = "busy"


class Damaged(UserProblem):
    """A file of ours is unreadable.  It was set aside, never deleted."""

    code = "damaged"


class NoSpace(UserProblem):
    """The disk is full."""

    code = "no_space"


class NotTrusted(UserProblem):
    """A signature or a pass does not hold."""

    code = "not_trusted"


class RemoteProblem(Problem):
    """A peer did wrong."""

    code = "remote"


class WireProblem(RemoteProblem):
    """Bytes that are no message of ours."""

    code = "wire"


class ProofProblem(RemoteProblem):
    """A pass, a signature, a nonce or a time that does not hold."""

    code = "proof"


class WorkerProblem(Problem):
    """The training process failed or ended."""

    code = "worker"
