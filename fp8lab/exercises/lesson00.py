"""Notebook 00: how large is an error that a report calls so many decibel, and how large can it be at most."""

from .exercise import Exercise, Wrong

EXERCISES = [
    Exercise(
        id="00.snr",
        name="relative_error",
        question="The report gives the signal to noise ratio in decibel, 10 · log10(signal energy / error energy). "
                 "How large is the typical error relative to the typical weight: the square root of error energy / "
                 "signal energy?",
        minutes=4,
        read="Reading the report",
        cases=lambda: [(f"{snr:g}", (snr,)) for snr in (0.0, 20.0, 31.6, 40.0)],
        reference=lambda snr_db: 10 ** (-snr_db / 20),
        wrong=(
            Wrong("energy, not amplitude",
                  "That is error energy / signal energy. The error itself is the square root of it: halve the "
                  "exponent.",
                  lambda snr_db: 10 ** (-snr_db / 10)),
            Wrong("inverted",
                  "That grows with the SNR: it is signal / error. A better report must give a smaller error.",
                  lambda snr_db: 10 ** (snr_db / 20)),
            Wrong("energy, inverted",
                  "That is signal energy / error energy, the ratio the decibels stand for. Turn it over, then take "
                  "the root.",
                  lambda snr_db: 10 ** (snr_db / 10)),
            Wrong("per cent",
                  "That is 100 times too large: it is in per cent, and a share of 1 is asked for.",
                  lambda snr_db: 100 * 10 ** (-snr_db / 20)),
            Wrong("base e",
                  "That takes e as the base; decibels are made with log10, so the base is 10.",
                  lambda snr_db: 2.718281828459045 ** (-snr_db / 20)),
        ),
    ),
    Exercise(
        id="00.bound",
        name="error_bound",
        question="A format keeps `mantissa_bits` bits after the leading 1 and rounds to the nearest number. How large "
                 "can the error of a normal number get, relative to the power of two at or below it?",
        minutes=5,
        read="Why the error has a bound",
        cases=lambda: [("3", (3,)), ("2", (2,)), ("7", (7,)), ("23", (23,))],
        reference=lambda mantissa_bits: 2.0 ** -(mantissa_bits + 1),
        wrong=(
            Wrong("a whole step",
                  "That is the distance between two numbers. Rounding to nearest goes half of it at most.",
                  lambda mantissa_bits: 2.0**-mantissa_bits),
            Wrong("a quarter of a step",
                  "That is a quarter of the distance between two numbers. A number in the middle is half of it away.",
                  lambda mantissa_bits: 2.0 ** -(mantissa_bits + 2)),
            Wrong("relative to the number itself",
                  "That is the worst error relative to the number itself, a little less. Relative to the power of two "
                  "below it, as asked, it is a power of two.",
                  lambda mantissa_bits: 1 / (2.0 ** (mantissa_bits + 1) + 1)),
            Wrong("decimal digits",
                  "That counts decimal digits. Each mantissa bit halves the step; a digit would make it a tenth.",
                  lambda mantissa_bits: 0.5 * 10.0**-mantissa_bits),
        ),
    ),
]
