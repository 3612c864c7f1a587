"""What a criterion may remember: the accumulators of the Rust sdk, with the same bits and the same saved states.

Each can be taken out and merged, and gives the same bits in any order of rows. The twin of
wasm-checks/sdk/src/accumulate.rs; checks/criterion/tests/python.rs holds the two against each other.
"""

from math import frexp, inf, isfinite, nan
from struct import Struct, error as StructError

_U64 = Struct("<Q")
_F64 = Struct("<d")
_MASK = (1 << 64) - 1


class Trouble(Exception):
    """What makes the whole answer an error."""


def put_number(into, number):
    into += _U64.pack(number & _MASK)


def put_float(into, value):
    into += _F64.pack(value)


def put_text(into, text):
    data = text.encode()
    put_number(into, len(data))
    into += data


class Saved:
    """A saved state being read."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, count):
        end = self.at + count
        if end > len(self.data):
            raise Trouble("the saved state ends too early")
        taken = self.data[self.at:end]
        self.at = end
        return taken

    def number(self):
        return _U64.unpack(self.take(8))[0]

    def signed(self):
        number = self.number()
        return number - (1 << 64) if number >> 63 else number

    def float(self):
        return _F64.unpack(self.take(8))[0]

    def text(self):
        try:
            return bytes(self.take(self.number())).decode()
        except UnicodeDecodeError:
            raise Trouble("the saved state holds a broken text") from None

    def finished(self):
        return self.at == len(self.data)


def number(value, what):
    """A float64, or a sentence that names what was given instead."""
    if type(value) is float:
        return value
    # Of an int that float64 cannot hold, Python says so itself.
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if value is None:
        raise TypeError(f"{what} takes a number and was given None: not every row has this measure")
    raise TypeError(f"{what} takes a number and was given {type(value).__name__}")


def text(value, what):
    if isinstance(value, str):
        return value
    raise TypeError(f"{what} takes a text and was given {type(value).__name__}")


class Accumulator:
    """Something that sees rows one after the other, and can be taken out and merged."""

    __slots__ = ()

    def trouble(self):
        return None

    def rows(self):
        return []

    def __format__(self, spec):
        return format(self.value, spec)

    def _not_a_number(self, *_):
        raise TypeError(f"an accumulator is no number: write `.value`, the number of this {type(self).__name__}")

    # By identity none would ever equal a number.
    __eq__ = __ne__ = _not_a_number
    __hash__ = object.__hash__
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _not_a_number
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __float__ = __bool__ = _not_a_number


class Count(Accumulator):
    """How many rows, or how many of something."""

    __slots__ = ("_n",)

    def __init__(self):
        self._n = 0

    def add(self):
        self._n += 1

    def add_if(self, condition):
        if condition:
            self._n += 1

    def add_many(self, n):
        if not isinstance(n, int) or n < 0:
            raise TypeError(f"Count.add_many takes a whole number that is not negative and was given {n!r}")
        self._n += n

    @property
    def value(self):
        return self._n

    def save(self, into):
        put_number(into, self._n)

    def merge(self, saved):
        self._n += saved.number()


# Of a sum as the Rust sdk saves it: limbs of 32 bits, bit 0 weighs 2^-1074.
_LIMBS = 68
_LOWEST = 1074


class Sum(Accumulator):
    """A sum that rounds once, at the end: exact in any order."""

    __slots__ = ("_parts", "_not_finite")

    def __init__(self):
        # Exponent → whole number of units of 2^(exponent - 53).
        self._parts = {}
        self._not_finite = 0

    def add(self, value):
        if type(value) is not float:
            value = number(value, f"{type(self).__name__}.add")
        if not isfinite(value):
            self._not_finite += 1
            return
        mantissa, exponent = frexp(value)
        parts = self._parts
        # A float64's 53 bits as a whole number; Python's do not overflow.
        parts[exponent] = parts.get(exponent, 0) + int(mantissa * 9007199254740992.0)

    def _whole(self):
        """The sum in units of 2^-1074."""
        total = 0
        for exponent, part in self._parts.items():
            shift = exponent - 53 + _LOWEST
            # A subnormal's lowest bits are 0 here.
            total += part << shift if shift >= 0 else part >> -shift
        return total

    @property
    def value(self):
        try:
            # Python divides whole numbers with one rounding, ties to even.
            return self._whole() / (1 << _LOWEST)
        except OverflowError:
            return inf if self._whole() > 0 else -inf

    def save(self, into):
        put_number(into, self._not_finite)
        whole = self._whole()
        for limb in range(_LIMBS - 1):
            put_number(into, (whole >> (32 * limb)) & 0xFFFFFFFF)
        put_number(into, whole >> (32 * (_LIMBS - 1)))

    def merge(self, saved):
        self._not_finite += saved.number()
        whole = sum(saved.signed() << (32 * limb) for limb in range(_LIMBS))
        # Units of 2^-1074 are those of this exponent.
        unit = 53 - _LOWEST
        self._parts[unit] = self._parts.get(unit, 0) + whole

    def trouble(self):
        return f"{self._not_finite} values given to a sum are not finite" if self._not_finite else None


class Mean(Accumulator):
    """The arithmetic mean: an exact sum divided by a count."""

    __slots__ = ("_sum", "_count")

    def __init__(self):
        self._sum = Sum()
        self._count = 0

    def add(self, value):
        if type(value) is not float:
            value = number(value, "Mean.add")
        self._sum.add(value)
        self._count += 1

    @property
    def value(self):
        # A mean of nothing makes the answer an error and never a figure.
        return self._sum.value / self._count if self._count else nan

    def save(self, into):
        self._sum.save(into)
        put_number(into, self._count)

    def merge(self, saved):
        self._sum.merge(saved)
        self._count += saved.number()

    def trouble(self):
        return self._sum.trouble()


class _Extreme(Accumulator):
    """The rows with the most extreme values, worst first; ties by id, bytewise."""

    __slots__ = ("_most", "_rows", "_nan")
    _sign = 1.0

    def __init__(self, rows=5):
        if not isinstance(rows, int) or isinstance(rows, bool) or not 1 <= rows <= 1000:
            raise ValueError(f"{type(self).__name__}({rows!r}): it keeps a whole number of rows, from 1 to 1000")
        self._most = rows
        # (sign · value, id, value), ascending: Python orders texts by code point, which is UTF-8's bytewise order.
        self._rows = []
        self._nan = None

    def add(self, value, id):
        if type(value) is not float:
            value = number(value, f"{type(self).__name__}.add")
        if type(id) is not str:
            id = text(id, f"{type(self).__name__}.add, beside its value,")
        rows = self._rows
        key = value * self._sign
        if len(rows) == self._most:
            last = rows[-1]
            if key > last[0] or (key == last[0] and id >= last[1]):
                return
        if value != value:
            if self._nan is None or id < self._nan:
                self._nan = id
            return
        place = len(rows)
        while place and (key < rows[place - 1][0] or (key == rows[place - 1][0] and id < rows[place - 1][1])):
            place -= 1
        rows.insert(place, (key, id, value))
        del rows[self._most:]

    @property
    def value(self):
        return self._rows[0][2] if self._rows else self._sign * inf

    def rows(self):
        return [(id, value) for _, id, value in self._rows]

    def save(self, into):
        put_number(into, self._nan is not None)
        put_text(into, self._nan or "")
        put_number(into, len(self._rows))
        for _, id, value in self._rows:
            put_float(into, value)
            put_text(into, id)

    def merge(self, saved):
        troubled = saved.number() != 0
        id = saved.text()
        if troubled:
            self.add(nan, id)
        for _ in range(saved.number()):
            value = saved.float()
            self.add(value, saved.text())

    def trouble(self):
        return None if self._nan is None else f"the criterion's own value for row `{self._nan}` is not a number"


class Lowest(_Extreme):
    """The rows with the lowest values, 5 unless another number is given."""

    __slots__ = ()


class Highest(_Extreme):
    """The rows with the highest values, 5 unless another number is given."""

    __slots__ = ()
    _sign = -1.0


# Sign (always 0), 11 bits of exponent and 3 of fraction remain.
_CLASS_SHIFT = 49
_LARGEST = 1.7976931348623157e308


class Spread(Accumulator):
    """How often each size (absolute value) occurred: eight classes to the octave."""

    __slots__ = ("_zeros", "_not_finite", "_classes")

    def __init__(self):
        self._zeros = 0
        self._not_finite = 0
        self._classes = {}

    def add(self, value):
        if type(value) is not float:
            value = number(value, "Spread.add")
        if not isfinite(value):
            self._not_finite += 1
        elif value == 0.0:
            self._zeros += 1
        else:
            of = _U64.unpack(_F64.pack(abs(value)))[0] >> _CLASS_SHIFT
            self._classes[of] = self._classes.get(of, 0) + 1

    @property
    def zeros(self):
        """Rows whose value was exactly 0."""
        return self._zeros

    def bins(self):
        """(low, high, rows) of the classes that occurred, ascending."""

        def bound(of):
            # The last class ends at the largest float64; the pattern after it would be infinity.
            return min(_F64.unpack(_U64.pack(of << _CLASS_SHIFT))[0], _LARGEST)

        return [(bound(of), bound(of + 1), rows) for of, rows in sorted(self._classes.items())]

    def save(self, into):
        put_number(into, self._zeros)
        put_number(into, self._not_finite)
        put_number(into, len(self._classes))
        for of, rows in sorted(self._classes.items()):
            put_number(into, of)
            put_number(into, rows)

    def merge(self, saved):
        self._zeros += saved.number()
        self._not_finite += saved.number()
        for _ in range(saved.number()):
            of = saved.number()
            self._classes[of] = self._classes.get(of, 0) + saved.number()

    def trouble(self):
        return f"{self._not_finite} values given to a distribution are not finite" if self._not_finite else None


class Tally(Accumulator):
    """How many rows each key, or each pair of keys, has. For texts of which there are few, such as labels."""

    __slots__ = ("_counts",)
    KEYS = 1024

    def __init__(self):
        self._counts = {}

    def add(self, key):
        self._add_many((text(key, "Tally.add"), ""), 1)

    def add_pair(self, first, second):
        self._add_many((text(first, "Tally.add_pair"), text(second, "Tally.add_pair")), 1)

    def _add_many(self, pair, n):
        counts = self._counts
        if pair in counts:
            counts[pair] += n
            return
        counts[pair] = n
        # One key too many stays, as the evidence. The smallest ones do, so that the state is the same in any order.
        if len(counts) > self.KEYS + 1:
            del counts[max(counts)]

    def count(self, key):
        return self._counts.get((key, ""), 0)

    def count_pair(self, first, second):
        return self._counts.get((first, second), 0)

    def entries(self):
        """(first, second, rows), ascending; the second is empty where single keys were added."""
        return [(first, second, rows) for (first, second), rows in sorted(self._counts.items())]

    @property
    def value(self):
        """The number of different keys."""
        return len(self._counts)

    def save(self, into):
        put_number(into, len(self._counts))
        for first, second, rows in self.entries():
            put_text(into, first)
            put_text(into, second)
            put_number(into, rows)

    def merge(self, saved):
        for _ in range(saved.number()):
            pair = (saved.text(), saved.text())
            self._add_many(pair, saved.number())

    def trouble(self):
        if len(self._counts) <= self.KEYS:
            return None
        first, second = max(self._counts)
        pair = f"`{first}` with `{second}`" if second else f"`{first}`"
        return f"a tally holds {self.KEYS} different keys, and {pair} is one more"
