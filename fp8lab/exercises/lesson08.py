"""Notebook 08: which remedy belongs to which message, and whether the files of a variant are those that were built."""

import base64
import hashlib

from .exercise import Exercise, Wrong

REMEDIES = {
    "A kernel version or revision must be specified.": "version=1",
    "Version 3 not found, available versions: 1, 2": "another version",
    "backend (rocm72) does not match selected backend (cpu)": "another variant",
    "is not from a trusted publisher.": "read the code, then trust_remote_code",
    "could not verify publisher trust status.": "unset HF_HUB_DISABLE_TELEMETRY",
    "is not available in the local cache and Hugging Face Hub is in offline mode.": "LOCAL_KERNELS",
}


def _with(**changes):
    """REMEDIES with other answers for the messages that begin with a word."""
    return {message: next((remedy for word, remedy in changes.items() if message.startswith(word)), right)
            for message, right in REMEDIES.items()}


REMEDY = Exercise(
    id="08.remedy",
    name="remedies",
    question='For each message, choose what helps: "version=1", "another version", "another variant", "read the code, '
             'then trust_remote_code", "unset HF_HUB_DISABLE_TELEMETRY" or "LOCAL_KERNELS". Each helps once.',
    minutes=5,
    read="Six ways to fail",
    reference=REMEDIES,
    wrong=(
        Wrong("trust where nothing is known",
              "Two are swapped: where trust could not be checked, trusting more only hides the cause; where it was "
              "checked and denied, no variable helps.",
              _with(**{"is not from": REMEDIES["could not verify publisher trust status."],
                       "could not": REMEDIES["is not from a trusted publisher."]})),
        Wrong("version and variant mixed up",
              "Two are swapped: a version is a branch of the repository, a variant a folder in it that fits a machine.",
              _with(Version="another variant", backend="another version")),
        Wrong("no version and unknown version mixed up",
              "Two are swapped: one call named no version at all, the other one that does not exist.",
              _with(A="another version", Version="version=1")),
        Wrong("offline cured by a version",
              "Two are swapped: offline, the version was named, but the cache knows commits only; and a call without a "
              "version needs one before anything else.",
              _with(A="LOCAL_KERNELS", **{"is not available": "version=1"}), read="Without a network"),
    ),
)


def _digest(content):
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def _cases():
    """Files of each kind at once, so that every mistake shows; and one variant that is whole."""
    built = {"__init__.py": b"from ._ops import ops\n", "_ops.py": b"import torch\n", "layers.py": b"# layers\n"}
    digest = {name: _digest(content) for name, content in built.items()}
    mixed = {"__init__.py": built["__init__.py"], "_ops.py": b"import torch, os\n", "extra.py": b""}
    return [("a whole variant", (built, digest)), ("a variant with changes", (mixed, digest))]


def _verify(files, digest, same="same", altered="altered", missing="missing", unlisted="unlisted"):
    found = {name: (same if name in files and _digest(files[name]) == value else altered if name in files else missing)
             for name, value in digest.items()}
    return found | {name: unlisted for name in files if name not in digest}


def _without(kind):
    def model(files, digest):
        return {name: state for name, state in _verify(files, digest).items() if state != kind}
    return model


VERIFY = Exercise(
    id="08.verify",
    name="verify",
    question="Write verify(files, digest): files is {name: bytes} of a variant, digest is the {name: text} that its "
             'metadata.json holds, base64 of SHA-256. Return {name: "same", "altered", "missing" or "unlisted"} for '
             "every name in either.",
    minutes=8,
    read="A file that was changed",
    cases=_cases,
    reference=_verify,
    wrong=(
        Wrong("hexadecimal, or another hash",
              "Every file comes out as altered. metadata.json holds base64 of the 32 bytes, digest(), not of "
              "hexdigest().",
              lambda files, digest: _verify(files, digest, same="altered")),
        Wrong("missing files not noticed",
              "A file that is in the digest and not in the variant has no entry: you walk through the files only.",
              _without("missing")),
        Wrong("unlisted files not noticed",
              "A file that the digest does not name has no entry: you walk through the digest only. Somebody put it "
              "there, and importing the variant may run it.",
              _without("unlisted")),
        Wrong("names only",
              "A file whose content was changed counts as the same: you compare names, not contents.",
              lambda files, digest: _verify(files, digest, altered="same")),
        Wrong("missing and unlisted swapped",
              "missing is in the digest and not among the files; unlisted is the other way round.",
              lambda files, digest: _verify(files, digest, missing="unlisted", unlisted="missing")),
    ),
)

EXERCISES = [REMEDY, VERIFY]
