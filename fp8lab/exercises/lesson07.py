"""Notebook 07: a section of build.toml for the real parser, the variant that loads, and the digest of a file."""

import base64
import hashlib
import tomllib

from ..practice import WITHOUT_ROCM, review
from ..variants import System, decide
from .exercise import Exercise, Wrong

ROCM_SECTION = """
[kernel.gemm_rocm]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = [
    "gemm/gemm_launcher.hip",
    "gemm/gemm_launcher.h",
    "gemm/gemm_kernel.h",
    "gemm/mfma.h",
]
"""


def _examine(section):
    """Return the first complaint about a section: the parser's, the check's, then what this exercise asks for."""
    if not isinstance(section, str):
        return f"It has to be the text of a section, you gave a {type(section).__name__}"
    text = f"{section}\n{WITHOUT_ROCM}"             # first, so that the parser's line numbers are the learner's
    complaints = review(text)
    if complaints:
        return " ".join(complaints[0].replace("refused:", "The parser says:", 1).split())
    rocm = [kernel for kernel in tomllib.loads(text)["kernel"].values() if kernel["backend"] == "rocm"]
    archs = {arch for kernel in rocm for arch in kernel.get("rocm-archs", ["all that kernel-builder knows"])}
    if archs != {"gfx942"}:
        return f"It is built for {', '.join(sorted(archs)) or 'no GPU'}, needs gfx942 and no other"
    if not any(source.endswith(".hip") for kernel in rocm for source in kernel["src"]):
        return "Its src lists no .hip file, so nothing is compiled for the GPU"
    return "accepted"


def _with(old, new):
    assert old in ROCM_SECTION
    return ROCM_SECTION.replace(old, new)


SECTION = Exercise(
    id="07.section",
    name="rocm_section",
    question="Write the [kernel.…] section that builds gemm/gemm_launcher.hip for the MI300X, gfx942, and for no other "
             "GPU. It depends on torch.",
    minutes=8,
    read="What the parser does not look at",
    examine=_examine,
    reference=ROCM_SECTION,
    wrong=(
        Wrong("backend is called hip",
              "HIP is the language, the backend is called rocm; the parser names all it knows.",
              _with('"rocm"', '"hip"')),
        Wrong("depends missing",
              "Each [kernel.…] section needs `depends`, even an empty one; here it is torch.",
              _with('depends = ["torch"]\n', "")),
        Wrong("underscore in a key",
              "The key is rocm-archs, with a hyphen. Only [torch-noarch] writes it with an underscore.",
              _with("rocm-archs", "rocm_archs")),
        Wrong("arch that no longer exists",
              "The parser takes any name. gfx940 is not among those that kernel-builder knows, and it is dropped "
              "without a word.",
              _with('"gfx942"', '"gfx942", "gfx940"')),
        Wrong("arch of another FP8",
              "gfx950 is the MI355X, whose FP8 is e4m3fn: there the same bytes mean twice as much, and the kernel "
              "would be built and be wrong.",
              _with('"gfx942"', '"gfx942", "gfx950"')),
        Wrong("every arch",
              "Without rocm-archs the kernel is built for each GPU that kernel-builder knows, and a kernel written "
              "for gfx942 does not compile for most of them.",
              _with('rocm-archs = ["gfx942"]\n', "")),
        Wrong("headers not listed",
              "Only listed files are copied to where Nix builds, and a header that the launcher includes is missing "
              "there. List headers in src too.",
              _with('    "gemm/gemm_launcher.h",\n    "gemm/gemm_kernel.h",\n    "gemm/mfma.h",\n', "")),
        Wrong("header of a header missing",
              "gemm_kernel.h is listed; what it includes in its turn has to be listed as well.",
              _with('    "gemm/mfma.h",\n', "")),
        Wrong("kernel in a .cpp file",
              "The launcher is a .hip file. Named .cpp it would go to the host's C++ compiler, which knows no "
              "kernels.",
              _with("gemm_launcher.hip", "gemm_launcher.cpp")),
        Wrong("only headers",
              "Headers are copied, not compiled: some .hip file has to include them.",
              _with('    "gemm/gemm_launcher.hip",\n', "")),
    ),
)

VARIANTS = {
    "A": "torch212-cxx11-rocm72-x86_64-linux",
    "B": "torch213-cxx11-rocm71-x86_64-linux",
    "C": "torch213-cxx11-cpu-x86_64-linux",
    "D": "torch-stable-abi210-cpu-x86_64-linux",
}
SYSTEMS = {
    "torch 2.13, ROCm 7.1": System("2.13", "rocm71"),
    "torch 2.13, ROCm 7.2": System("2.13", "rocm72"),
    "torch 2.12, ROCm 7.2": System("2.12", "rocm72"),
    "torch 2.13, CPU": System("2.13", "cpu"),
    "torch 2.14, CPU": System("2.14", "cpu"),
    "torch 2.9, CPU": System("2.9", "cpu"),
}
PICKED = {"torch 2.13, ROCm 7.1": "B", "torch 2.13, ROCm 7.2": "none", "torch 2.12, ROCm 7.2": "A",
          "torch 2.13, CPU": "D", "torch 2.14, CPU": "D", "torch 2.9, CPU": "none"}


def picked_by_the_library():
    """Return what kernels itself picks, in the form of the exercise. A test compares it with PICKED."""
    letters = {name: letter for letter, name in VARIANTS.items()}
    first = {label: decide(VARIANTS.values(), system)[0] for label, system in SYSTEMS.items()}
    return {label: letters[decision.name] if decision.fits else "none" for label, decision in first.items()}


PICK = Exercise(
    id="07.pick",
    name="picks",
    question="Which of the variants A to D does each machine load? \"none\" if no one fits. All are x86_64 Linux.",
    minutes=6,
    read="Which variant loads",
    reference=PICKED,
    wrong=(
        Wrong("an older ROCm will do",
              "For CUDA an older minor version fits; ROCm has to be the same. B does not load on ROCm 7.2.",
              PICKED | {"torch 2.13, ROCm 7.2": "B"}),
        Wrong("an older torch will do",
              "A was built for torch 2.12, and 2.13 does not load it: only a stable ABI variant serves later versions.",
              PICKED | {"torch 2.13, ROCm 7.2": "A"}),
        Wrong("the CPU steps in",
              "On a torch built for ROCm a CPU variant does not match the backend. It loads only where a program asks "
              'for backend="cpu".',
              PICKED | {"torch 2.13, ROCm 7.2": "D"}),
        Wrong("the exact version first",
              "C and D both fit torch 2.13 on a CPU. A stable ABI variant is preferred.",
              PICKED | {"torch 2.13, CPU": "C"}),
        Wrong("stable ABI read as one version",
              "abi210 is the oldest torch that D runs on: 2.13 and 2.14 load it too.",
              PICKED | {"torch 2.13, CPU": "C", "torch 2.14, CPU": "none"}),
        Wrong("stable ABI read as any version",
              "abi210 needs torch 2.10 or later: 2.9 lacks some of what D calls.",
              PICKED | {"torch 2.9, CPU": "D"}),
    ),
)


def _digest(data):
    return base64.b64encode(hashlib.sha256(data).digest()).decode()


DIGEST = Exercise(
    id="07.digest",
    name="file_digest",
    question="Write file_digest(data): what metadata.json says of a file that holds these bytes, its SHA-256 in "
             "base64, as text.",
    minutes=4,
    read="What is in the folder",
    cases=lambda: [(repr(data), (data,)) for data in (b"", b"gemm", b"fnuz", bytes(range(256)))],
    reference=_digest,
    wrong=(
        Wrong("hexadecimal", "That is the digest in hexadecimal; base64 takes the 32 bytes from .digest().",
              lambda data: hashlib.sha256(data).hexdigest()),
        Wrong("base64 of the hexadecimal text", "You encoded the 64 hexadecimal digits; encode the 32 bytes of "
              ".digest().",
              lambda data: base64.b64encode(hashlib.sha256(data).hexdigest().encode()).decode()),
        Wrong("base64 for URLs", "base64 for URLs writes - and _ where metadata.json has + and /.",
              lambda data: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()),
        Wrong("padding cut", "The = at the end belongs to it: base64 of 32 bytes has 44 characters.",
              lambda data: _digest(data).rstrip("=")),
        Wrong("another hash", "That is the SHA-512; metadata.json names sha256.",
              lambda data: base64.b64encode(hashlib.sha512(data).digest()).decode()),
        Wrong("the bytes themselves", "Those are the file's bytes in base64, before any hash.",
              lambda data: base64.b64encode(data).decode()),
    ),
)

EXERCISES = [SECTION, DIGEST, PICK]
