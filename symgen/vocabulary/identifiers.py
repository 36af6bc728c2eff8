"""Names in C: reserved names, and a robot's name as a valid identifier."""

from __future__ import annotations

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS = _set(
    """
    auto break case char const continue default do double else enum extern float for goto if inline
    int long register restrict return short signed sizeof static struct switch typedef union
    unsigned void volatile while _Bool _Complex _Imaginary _Alignas _Alignof _Atomic _Generic
    _Noreturn _Static_assert _Thread_local alignas alignof asm bool constexpr false fortran nullptr
    static_assert thread_local true typeof typeof_unqual and and_eq bitand bitor catch char8_t
    char16_t char32_t class co_await co_return co_yield compl concept const_cast consteval constinit
    decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq
    operator or or_eq private protected public reinterpret_cast requires static_cast template this
    throw try typeid typename using virtual wchar_t xor xor_eq
    """
)
"""Keywords of C99 to C23 and of C++, since generated text is also compiled as C++ on some targets.
"""

MACROS = _set(
    """
    NULL TRUE FALSE EOF ERROR BUFSIZ RAND_MAX CHAR_BIT assert errno offsetof va_arg va_copy va_end
    va_list va_start setjmp stdin stdout stderr linux unix i386 mips sparc sun hpux m68k vax PPC ppc
    vector pixel
    far near huge small interface pascal cdecl min max IN OUT OPTIONAL VOID CONST BOOL FAR NEAR
    CALLBACK DELETE HIGH LOW INPUT OUTPUT DEFAULT bit byte word interrupt
    """
)
"""Macros of compilers, of Windows' headers and of headers of microcontrollers."""

_MATH = _set(
    """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb
    ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma
    tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod remainder remquo
    copysign nan nextafter nexttoward fdim fmax fmin fma gamma drem significand scalb j0 j1 jn y0 y1
    yn exp10 pow10 sincos roundeven
    """
)
MATH = frozenset(f"{name}{suffix}" for name in _MATH for suffix in ("", "f", "l")) | _set(
    """
    fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal
    islessgreater isunordered iscanonical issignaling issubnormal iszero finite finitef finitel
    signgam matherr math_errhandling HUGE_VAL HUGE_VALF HUGE_VALL HUGE INFINITY NAN SNAN FP_INFINITE
    FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0
    FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT MAXFLOAT DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS
    X_TLOSS float_t double_t M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI
    M_2_SQRTPI M_SQRT2 M_SQRT1_2 C F I N PI V Z
    """
)
"""Names that <math.h> may declare or define, in ISO C, POSIX and common extensions.

The names of one letter are macros of <complex.h>, Arduino and MSP430, which a program may include
before the header.
"""

# A file NAME.h would hide the system's own header, and CMake keeps some target names to itself.
_RESERVED_FILES = _set(
    """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign
    stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
    wchar wctype unistd
    all clean depend edit_cache help install list_install_components package package_source
    preinstall rebuild_cache test tests m c std
    """
)

# A namespace of C++ that is called like a function of the system's headers is an error wherever
# both are seen.
_SYSTEM = _set(
    """
    abort abs accept access alarm atexit atof atoi atol bind bsearch calloc chdir clock close
    connect div dup exit fork free getenv getpid index kill labs ldiv link listen llabs lldiv malloc
    nice open pause pipe printf putc putchar puts qsort raise rand random read realloc recv remove
    rename rewind select send signal sleep socket srand stat strtod sync system tee truncate unlink
    usleep wait write main
    """
)

LONGEST = 100
"""Longest name in characters. File systems allow 255 for a file, and names of functions are
appended.
"""


def identifier(name: str) -> str:
    """Return `name` as a C identifier that can also name a header, a library and a CMake target:
    'my-arm v2' becomes 'my_arm_v2'.
    """
    text = re.sub(r"[^A-Za-z0-9_]+", "_", name)[:LONGEST].strip("_")
    text = re.sub(r"__+", "_", text)  # a double underscore is reserved in C++
    if not text:
        return "robot"
    if text[0].isdigit():
        return f"robot_{text}"
    return f"{text}_robot" if _reserved(text) else text


def name_fault(name: str) -> str:
    """Return why `name` is not a valid prefix of C names and file names; "" if `identifier` leaves
    it unchanged.
    """
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if re.search(r"[^A-Za-z0-9_]", name):
        return "has characters other than letters, digits and underscores of ASCII"
    if name[0].isdigit():
        return "begins with a digit"
    if name.startswith("_") or name.endswith("_") or "__" in name:
        return (
            "begins or ends with an underscore, or has two in a row, as names of the compiler have"
        )
    return _reserved(name)


def _reserved(name: str) -> str:
    """Return why a name is reserved; "" for a free name."""
    if name in KEYWORDS:
        return "is a keyword of C or C++"
    if name in MACROS or name in MATH or name in _SYSTEM:
        return "is a macro or a function of the system's headers"
    if name.lower() in _RESERVED_FILES:
        return "is the name of a header or a library of the system or of a target of CMake"
    return ""


def renaming_note(name: str) -> str:
    """Return a sentence that says why a robot of this name has another name in C; "" if the name is
    unchanged.
    """
    fault = name_fault(name)
    return (
        f"the robot '{name}' is called {identifier(name)} in C, since its name {fault}"
        if fault
        else ""
    )
