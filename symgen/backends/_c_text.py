"""Words of C: literals rounded once, identifiers that collide with nothing, and comments that cannot end early."""

from __future__ import annotations

import re
from fractions import Fraction

from symgen.backends._ascii import ascii_text
from symgen.backends._language import PRODUCT, SUM, Language
from symgen.reals import Real


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _set(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Bool _Complex
    _Imaginary _Alignas _Alignof _Atomic _Generic _Noreturn _Static_assert _Thread_local alignas alignof asm bool
    constexpr false fortran nullptr static_assert thread_local true typeof typeof_unqual and and_eq bitand bitor catch
    char8_t char16_t char32_t class co_await co_return co_yield compl concept const_cast consteval constinit decltype
    delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq operator or or_eq private
    protected public reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t
    xor xor_eq main linux unix NULL
    """
)
"""Of C99 to C23 and of C++, since generated text is also compiled as C++ on some targets."""

_MATH = _set(
    """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb ldexp log log10 log1p
    log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma tgamma ceil floor nearbyint rint lrint llrint
    round lround llround trunc fmod remainder remquo copysign nan nextafter nexttoward fdim fmax fmin fma gamma drem
    significand scalb j0 j1 jn y0 y1 yn exp10 pow10 sincos roundeven
    """
)
MATH = frozenset(f"{name}{suffix}" for name in _MATH for suffix in ("", "f", "l")) | _set(
    """
    fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal islessgreater
    isunordered iscanonical issignaling issubnormal iszero finite finitef finitel signgam matherr math_errhandling
    HUGE_VAL HUGE_VALF HUGE_VALL HUGE INFINITY NAN SNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO FP_FAST_FMA
    FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT MAXFLOAT DOMAIN SING OVERFLOW UNDERFLOW
    PLOSS TLOSS X_TLOSS float_t double_t M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI
    M_SQRT2 M_SQRT1_2 F I PI
    """
)
"""What <math.h> may declare or define, in ISO C, POSIX and the extensions that are met in the field."""

# A file NAME.h would hide the system's own header, and CMake keeps some target names to itself.
_TAKEN_FILES = _set(
    """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic
    stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype unistd
    all clean depend edit_cache help install list_install_components package package_source preinstall rebuild_cache
    test tests m c std
    """
)

# A namespace of C++ that is called like a function of the system's headers is an error wherever both are seen.
_SYSTEM = _set(
    """
    abort abs accept access alarm atexit atof atoi atol bind bsearch calloc chdir clock close connect div dup exit fork free
    getenv getpid index kill labs ldiv link listen llabs lldiv malloc nice open pause pipe printf putc putchar puts qsort raise
    rand random read realloc recv remove rename rewind select send signal sleep socket srand stat strtod sync system tee
    truncate unlink usleep wait write
    """
)

WIDTH = 110
"""Columns that a generated line stays within."""


def identifier(name: str) -> str:
    """`name` as a C identifier that can also name a header, a library and a CMake target: 'my-arm v2' -> 'my_arm_v2'."""
    text = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    text = re.sub(r"__+", "_", text)  # a double underscore is reserved in C++
    if not text:
        return "robot"
    if text[0].isdigit():
        return f"robot_{text}"
    return f"{text}_robot" if text in KEYWORDS or text in MATH or text in _SYSTEM or text.lower() in _TAKEN_FILES else text


def comment(text: str) -> str:
    """`text` on one line of printable ASCII, unable to end a comment or to continue a line."""
    return one_line(ascii_text(text))   # in this order: what a sign is written as may be half of a comment's end


def one_line(text: str) -> str:
    """`text` on one line of printable characters of any alphabet, unable to end a comment or to continue a line."""
    plain = "".join(c if c.isprintable() else " " for c in text).replace("\\", "/")
    # The slashes are parted as often as needed: '**//' must not become '*/' by one replacement.
    while "*/" in plain or "/*" in plain:
        plain = plain.replace("*/", "* /").replace("/*", "/ *")
    return " ".join(plain.replace("??", "? ?").split())


def literal(value: Fraction, real: Real) -> str:
    """The shortest decimal that reads back as `value` rounded once to `real`, suffixed f for float: '0.1', '2.0f'."""
    return f"{real.shortest(value)}{real.suffix}"


C = Language(
    reserved=KEYWORDS | MATH,
    operators={"mul": ("*", PRODUCT), "div": ("/", PRODUCT), "add": (" + ", SUM), "sub": (" - ", SUM)},
    literal=literal,
    call=lambda name, real: real.libm(name),
    comment=comment,
    declaration="    const {kind} {name} = {value};",
    apart=frozenset([(SUM, PRODUCT)]),
    width=WIDTH,
)
"""Parentheses around a product in a sum are MISRA C:2012's, rule 12.1; nothing of <math.h> is hidden by a local."""
