"""Networks of quantities: prices, uses, order and cycles; and the search that changes them."""

from __future__ import annotations

from random import Random

import pytest

from symgen.ir.passes import _search
from symgen.ir.passes._network import FUNCTION, PRICES, Network, Way


def network_of(*quantities: tuple[object, ...], results: tuple[int, ...]) -> Network:
    """Return a network of (operation, *operands); sums and products can be changed."""
    ways, below, operations = [], [], []
    for operation, *operands in quantities:
        op = str(operation)
        operand_indices = tuple(a for a in operands if isinstance(a, int))
        operations.append(op)
        below.append(operand_indices)
        ways.append(Way(op, *operand_indices) if op in ("add", "mul") else None)
    return Network(ways, below, operations, results)


def needed(network: Network, results: tuple[int, ...]) -> set[int]:
    """Return the quantities that the results depend on."""
    reached: set[int] = set()
    to_visit = list(results)
    while to_visit:
        c = to_visit.pop()
        if c not in reached:
            reached.add(c)
            to_visit += network.below[c]
    return reached


def depends_on(network: Network, top: tuple[int, ...], c: int) -> bool:
    return c in needed(network, top)


def check_network(network: Network, results: tuple[int, ...]) -> None:
    """Compare what a network records with what its ways say."""
    used = needed(network, results)
    assert network.total == sum(network.prices[c] for c in used)
    for c in range(len(network.way)):
        readers = [d for d in used for a in network.below[d] if a == c]
        assert network.uses[c] == len(readers) + results.count(c)
        assert network.users[c] == {d for d, below in enumerate(network.below) if c in below}
        assert all(network.height[a] < network.height[c] for a in network.below[c])
        way = network.way[c]
        assert way is None or network.below[c] == (way.a, way.b)
    order = network.order()
    assert sorted(order) == sorted(used)
    position = {c: k for k, c in enumerate(order)}
    assert all(position[a] < position[c] for c in order for a in network.below[c])


def test_only_what_results_need_has_a_price() -> None:
    """sin(a + 2) and (a + 2)/b cost 1 + 10 + 2; the product and the logarithm are not needed."""
    quantities = (
        ("input",),
        ("input",),
        ("const",),
        ("add", 0, 2),
        ("sin", 3),
        ("mul", 4, 1),
        ("div", 3, 1),
        ("log", 5),
    )
    network = network_of(*quantities, results=(4, 6, 4))
    assert network.total == PRICES["add"] + FUNCTION + PRICES["div"] == 13
    assert network.uses == [1, 1, 1, 2, 2, 0, 1, 0]
    assert network.constant == [False, False, True, False, False, False, False, False]
    check_network(network, (4, 6, 4))
    assert network.steps == 6  # quantities that became needed


def test_prices_of_operations() -> None:
    for op, price in (("add", 1), ("sub", 1), ("mul", 1), ("div", 2), ("neg", 0), ("sqrt", 10)):
        operands = (0,) if op in ("neg", "sqrt") else (0, 1)
        network = network_of(("input",), ("const",), (op, *operands), results=(2,))
        assert network.total == price


def test_a_changed_way_costs_what_it_needs_and_saves_what_it_frees() -> None:
    """(a + b)·c instead of a·c + b·c, where a + b is a result already."""
    quantities = (
        ("input",),
        ("input",),
        ("input",),
        ("mul", 0, 2),
        ("mul", 1, 2),
        ("add", 3, 4),
        ("add", 0, 1),
    )
    network = network_of(*quantities, results=(5, 6))
    assert network.total == 4
    assert network.exclusive_price(5) == 3
    assert network.exclusive_price(6) == 1
    check_network(network, (5, 6))
    assert network.change(5, Way("mul", 6, 2)) == -2
    assert network.total == 2
    assert network.exclusive_price(5) == 1
    check_network(network, (5, 6))
    assert network.change(3, Way("mul", 2, 0)) == 0  # it is not needed
    assert network.change(5, Way("add", 3, 4)) == 2
    check_network(network, (5, 6))


def test_a_change_that_makes_a_cycle_is_refused() -> None:
    network = network_of(
        ("input",), ("input",), ("add", 0, 1), ("mul", 2, 1), ("add", 3, 0), results=(4,)
    )
    before = list(network.way), list(network.below), network.total
    for way in (Way("add", 4, 0), Way("add", 0, 3), Way("mul", 2, 0), Way("mul", 1, 2)):
        assert network.change(2, way) is None
        assert (network.way, network.below, network.total) == before
        check_network(network, (4,))
    assert network.change(3, Way("add", 3, 1)) is None
    assert network.change(4, Way("add", 3, 3)) == 0


def test_a_new_quantity_has_no_users_and_costs_nothing_before_it_is_used() -> None:
    network = network_of(("input",), ("const",), ("const",), ("add", 0, 1), results=(3,))
    product = network.put(Way("mul", 3, 1))
    constant = network.put(Way("add", 1, 2))
    assert (product, constant) == (4, 5)
    assert network.prices[4:] == [1, 0]
    assert [network.prices[network.put(way)] for way in (Way("mul", 1, 0), Way("mul", 0, 1))] == [
        1,
        1,
    ]
    assert network.constant[4:] == [False, True, False, False]
    assert network.uses[4:] == [0] * 4
    check_network(network, (3,))
    assert network.change(3, Way("add", 0, constant)) == 0
    check_network(network, (3,))
    assert network.change(3, Way("add", 0, product)) is None  # the product is made of it


def test_steps_are_the_quantities_that_a_change_visits() -> None:
    """a·a is above its future user s, so that s and the result, its user, become higher.

    Visited are a·a once for the order and once as needed, s and the result as they rise, and a + b,
    which is needed no more.
    """
    network = network_of(
        ("input",),
        ("input",),
        ("add", 0, 1),
        ("mul", 2, 0),  # s
        ("add", 3, 0),
        ("mul", 0, 0),
        results=(4,),
    )
    assert network.steps == 5  # s, the result, a + b, a and b
    assert network.change(3, Way("mul", 5, 1)) == 0
    assert network.steps == 5 + 2 + 2 + 1
    check_network(network, (4,))


def random_network(random: Random) -> tuple[Network, tuple[int, ...]]:
    quantities: list[tuple[object, ...]] = [("input",), ("input",), ("const",)]
    for c in range(3, 15):
        op = random.choice(("add", "mul", "add", "mul", "div", "sin"))
        quantities.append((op, *(random.randrange(c) for _ in range(1 if op == "sin" else 2))))
    results = tuple(random.randrange(3, 15) for _ in range(3))
    return network_of(*quantities, results=results), results


@pytest.mark.parametrize("seed", range(6))
def test_records_stay_true_after_any_changes(seed: int) -> None:
    random = Random(seed)
    network, results = random_network(random)
    check_network(network, results)
    for _ in range(60):
        c = random.choice([c for c, way in enumerate(network.way) if way is not None])
        way = Way(
            random.choice(("add", "mul")), *(random.randrange(len(network.way)) for _ in "ab")
        )
        if random.random() < 0.1:
            network.put(way)
            continue
        makes_cycle = depends_on(network, (way.a, way.b), c)
        before, steps = network.total, network.steps
        added = network.change(c, way)
        assert (added is None) == makes_cycle
        assert network.total == before + (added or 0)
        assert network.steps >= steps
        check_network(network, results)
        if network.uses[c]:
            alone = needed(network, (c,)) - needed_without(network, results, c)
            assert network.exclusive_price(c) == sum(network.prices[a] for a in alone)
            check_network(network, results)


def needed_without(network: Network, results: tuple[int, ...], c: int) -> set[int]:
    """Return the quantities that are needed if c were an argument."""
    reached: set[int] = set()
    to_visit = [r for r in results if r != c]
    while to_visit:
        d = to_visit.pop()
        if d not in reached:
            reached.add(d)
            to_visit += [a for a in network.below[d] if a != c]
    return reached


# -- the search ------------------------------------------------------------------------------------


def shared_rest() -> tuple[Network, dict[int, list[Way]]]:
    """Return a network in which two changes save two operations, though the first adds one.

    Two sums need x, of three operations. Each has another way, by a quantity of one operation that
    nothing else needs. The first change adds that operation, and the second frees x.
    """
    network = network_of(
        ("input",),
        ("input",),
        ("mul", 0, 1),  # 2
        ("add", 2, 0),  # 3
        ("mul", 3, 3),  # 4: x, three operations
        ("add", 0, 1),  # 5: the other quantity
        ("add", 4, 0),  # 6
        ("add", 4, 1),  # 7
        results=(6, 7),
    )
    ways = {6: [Way("mul", 5, 0), Way("add", 4, 0)], 7: [Way("mul", 5, 1), Way("add", 4, 1)]}
    return network, ways


def test_changes_that_save_only_together_are_found() -> None:
    for seed in range(4):
        network, ways = shared_rest()
        assert network.total == 5
        _search.anneal(network, ways, Random(seed), 1500)
        assert network.total == 3
        assert [network.way[c] for c in (6, 7)] == [ways[6][0], ways[7][0]]
        check_network(network, (6, 7))


def test_the_same_numbers_give_the_same_changes_and_no_move_gives_none() -> None:
    totals = []
    for moves in (0, 1, 3, 3):
        network, ways = shared_rest()
        before = list(network.way)
        _search.anneal(network, ways, Random(1), moves)
        totals.append(list(network.way))
        assert moves or network.way == before
    assert totals[2] == totals[3]


@pytest.mark.parametrize("warmth", [_search.WARMTH, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_search_never_ends_above_the_lowest_price_that_it_saw(
    seed: int, warmth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With warmth 1, many changes that add operations are accepted, and taken back in the end."""
    monkeypatch.setattr(_search, "WARMTH", warmth)
    random = Random(seed)
    network, results = random_network(random)
    changeable = [c for c, way in enumerate(network.way) if way is not None]
    ways = {
        c: [
            Way(random.choice(("add", "mul")), random.randrange(15), random.randrange(15))
            for _ in range(3)
        ]
        for c in changeable
    }
    totals = [network.total]

    class WatchedRandom(Random):
        def random(self) -> float:
            totals.append(network.total)
            return super().random()

    _search.anneal(network, ways, WatchedRandom(seed), 80)
    assert network.total <= min(totals)
    check_network(network, results)


def test_a_search_ends_after_a_number_of_visited_quantities() -> None:
    """Each change of a chain's last quantity visits hundreds: what it needs or what it frees."""
    chain = [("add", c + 1, c) for c in range(300)]
    quantities = [("input",), ("input",), *chain, ("add", 301, 0)]
    visited = []
    for moves in (1, 40, 400):
        network = network_of(*quantities, results=(302,))
        before = network.steps
        ways = {302: [Way("add", 301, 1), Way("add", 0, 1), Way("add", 301, 0)]}
        _search.anneal(network, ways, Random(5), moves)
        visited.append(network.steps - before)
        assert visited[-1] <= _search.STEPS * moves + 2 * len(quantities)
    assert visited[0] <= visited[1] < visited[2]


def test_earlier_visits_do_not_end_a_search() -> None:
    network, ways = shared_rest()
    network.steps += 10**7
    _search.anneal(network, ways, Random(1), 1500)
    assert network.total == 3


def test_changes_that_add_operations_are_accepted_less_and_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With warmth 1, the first are accepted and the last are refused."""
    monkeypatch.setattr(_search, "WARMTH", 1.0)
    network = network_of(("input",), ("input",), ("mul", 0, 1), ("add", 0, 1), results=(3,))
    ways = {3: [Way("add", 2, 1), Way("add", 0, 1)]}  # the first needs the product, too
    log: list[int | None] = []
    """0 for each number that is drawn, and what each change adds."""

    class LoggedRandom(Random):
        def random(self) -> float:
            log.append(0)
            return super().random()

    change = network.change

    def logged_change(c: int, way: Way) -> int | None:
        added = change(c, way)
        log.append(added)
        return added

    network.change = logged_change  # type: ignore[method-assign]
    _search.anneal(network, ways, LoggedRandom(3), 2000)
    # a refused change is taken back directly after the number that decides
    accepted = [log[n + 2] != -1 for n, added in enumerate(log[:-2]) if added == 1]
    tenth = len(accepted) // 10
    assert tenth > 20
    assert sum(accepted[:tenth]) > 0.7 * tenth
    assert sum(accepted[-tenth:]) < 0.3 * tenth
