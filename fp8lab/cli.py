"""`fp8lab …`: one word a subject; each module says what its own word takes."""

import argparse
import importlib
import sys

# word -> (module, one line of help). The module offers configure(parser) and run(args) -> exit code, and is
# imported only when its word is used, so that `fp8lab doctor` answers where torch itself is broken.
COMMANDS = {
    "doctor": ("fp8lab.doctor", "what this machine can do, and what to do about the rest"),
    "course": ("fp8lab.course", "run every lesson, or put the notebooks into their committed form"),
    "gfx942": ("fp8lab.gfx942.cli", "look into gfx942 code objects and run them on the emulator"),
    "build": ("fp8lab.localbuild", "build.toml -> build/<variant>/ without Nix"),
    "clean": ("fp8lab.clean", "remove what these commands generated"),
    "check": ("fp8lab.check", "whether kernel-builder, Nix, the Hub and the loader will take this repository"),
    "publish": ("fp8lab.publish", "upload the build to a Hub, dry run first"),
    "hub": ("fp8lab.hub", "a Hub on this machine that speaks the kernels protocol"),
}


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(prog="fp8lab", description=__doc__.split(";")[0])
    words = parser.add_subparsers(dest="word", required=True)
    for word, (module, help_line) in COMMANDS.items():
        sub = words.add_parser(word, help=help_line, description=help_line)
        if argv[:1] == [word]:
            importlib.import_module(module).configure(sub)
    args = parser.parse_args(argv)
    try:
        return importlib.import_module(COMMANDS[args.word][0]).run(args)
    except KeyboardInterrupt:
        print(f"\nfp8lab {args.word}: stopped", file=sys.stderr)
        return 130      # as the shell has it for a program that Ctrl-C ended


if __name__ == "__main__":
    sys.exit(main())
