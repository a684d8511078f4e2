"""Real numbers between integers: certified bounds of exp(-x) and of what the samplers make of it."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number v in [0, 1], known as low <= v * 2**precision <= high."""

    low: int
    high: int
    precision: int

    def times(self, other: "Enclosure") -> "Enclosure":
        """v * w, for another number of the same precision."""
        return Enclosure(
            self.low * other.low >> self.precision,
            -(-self.high * other.high >> self.precision),
            self.precision,
        )

    def logistic(self) -> "Enclosure":
        """v / (1 + v), which grows with v, so each end comes from its own end."""
        one = 1 << self.precision
        return Enclosure(
            (self.low << self.precision) // (one + self.low),
            -((-self.high << self.precision) // (one + self.high)),
            self.precision,
        )

    def doubled(self) -> "Enclosure":
        """2v, for v <= 1/2."""
        return Enclosure(2 * self.low, 2 * self.high, self.precision)

    def digits(self, count: int) -> int | None:
        """The first `count` binary digits of v as an integer, or None while the bounds leave them open."""
        spare = self.precision - count
        first = self.low >> spare
        return first if first == self.high >> spare else None


def enclose_exp(exponent: Fraction, precision: int) -> Enclosure:
    """exp(-exponent), with an error of a few units of 2**-precision. Requires exponent >= 0.

    The alternating Taylor series at exponent / 2**halvings <= 1/2, each term rounded outwards, squared back.
    """
    if exponent > precision:
        return Enclosure(0, 1, precision)  # exp(-x) < 2**-x < 2**-precision
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 2)
    working = precision + 2 * halvings + 8
    numerator, denominator = exponent.numerator, exponent.denominator << halvings
    term_low = term_high = low = high = 1 << working
    order = 0
    while term_high > 1:
        order += 1
        term_low = term_low * numerator // (denominator * order)
        term_high = -(-term_high * numerator // (denominator * order))
        if order % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    # The terms alternate and shrink, so what is left out is smaller than the last one taken: one unit.
    power = Enclosure(low - 1, min(high + 1, 1 << working), working)
    for _ in range(halvings):
        power = power.times(power)
    spare = working - precision
    return Enclosure(power.low >> spare, -(-power.high >> spare), precision)
