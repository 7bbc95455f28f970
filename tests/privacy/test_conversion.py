import math
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.accounting.batches import exact_pure_delta_up
from tacit.privacy.conversion import admitted_rho_down, largest_rho_down, least_epsilon_up, pure_epsilon_near, pure_rho_up
from tacit.privacy.loss import concentrated_epsilon_up, largest_concentrated_down
from tacit.privacy.rounding import exp_up, log_down, log_up

F = Fraction
MILLIONTH = F(1, 10**6)
CAPS = [
    (F(1), MILLIONTH),
    (F(8), F(99, 100) * MILLIONTH),
    (F(1, 10), F(1, 10**9)),
    (F(1, 2), F(1, 2)),
    (F(1, 10**6), F(1, 10**12)),
    (F(100), F(9, 10)),
]
epsilons = st.fractions(F(1, 100), 20, max_denominator=10**4)
deltas = st.sampled_from([F(1, 10**12), F(1, 10**7), F(1, 1000), F(1, 10), F(1, 2), F(9, 10)])


# --- R*: an enclosure, without the code's own evaluation -----------------------------------------------------------------------


def log_bound_down(rho: Fraction, epsilon: Fraction, order: Fraction) -> Fraction:
    """At or below the logarithm of e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1)."""
    return (order - 1) * (order * rho - epsilon) - order * log_up(order / (order - 1)) - log_up(order - 1)


def slope(rho: Fraction, epsilon: Fraction, order: Fraction) -> Fraction:
    """Its derivative by the order, which rises: (2a - 1) rho - epsilon + ln(1 - 1/a)."""
    return (2 * order - 1) * rho - epsilon - log_up(order / (order - 1))


def exceeds(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether no order at all shows that rho is (epsilon, delta): a proof by two tangents of a convex function."""
    low, high = -600.0, 600.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(rho, epsilon, 1 + F(math.exp(middle))) < 0 else (low, middle)
    left, right = 1 + F(math.exp(low - 1e-7)), 1 + F(math.exp(high + 1e-7))
    falling, rising = slope(rho, epsilon, left), slope(rho, epsilon, right)
    assert falling < 0 < rising
    at_left, at_right = log_bound_down(rho, epsilon, left), log_bound_down(rho, epsilon, right)
    crossing = (at_left - at_right + rising * right - falling * left) / (rising - falling)
    return at_left + falling * (crossing - left) > log_up(delta)


@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
def test_the_largest_rho_is_admitted_by_an_order_and_a_hair_more_by_none(epsilon: Fraction, delta: Fraction) -> None:
    """Planted: rounded up by a millionth of a millionth, it is found."""
    largest = largest_rho_down(epsilon, delta)
    assert not exceeds(largest, epsilon, delta)
    assert exceeds(largest * (1 + F(1, 10**12)), epsilon, delta)


@settings(max_examples=40, deadline=None)
@given(epsilons, deltas, st.fractions(F(1, 1000), 1000))
@example(F(10**150), F(1, 10**9), F(1))  # beyond floats: the order of the closed form
@example(F(1, 10**150), F(1, 3), F(1))
@example(F(1), F(1, 10**400), F(1))
@example(F(1), 1 - F(1, 10**30), F(1))
def test_no_order_admits_more_and_the_closed_form_admits_less(epsilon: Fraction, delta: Fraction, above: Fraction) -> None:
    largest = largest_rho_down(epsilon, delta)
    assert largest_concentrated_down(epsilon, delta) <= largest
    assert admitted_rho_down(epsilon, delta, above) <= largest * (1 + F(1, 10**12))


@settings(max_examples=40, deadline=None)
@given(epsilons, epsilons, deltas, deltas)
def test_it_grows_with_both_budgets(epsilon: Fraction, more: Fraction, delta: Fraction, larger: Fraction) -> None:
    low, high = sorted([delta, larger])
    assert largest_rho_down(epsilon, low) <= largest_rho_down(epsilon + more, high)


@settings(max_examples=40, deadline=None)
@given(epsilons, deltas)
def test_the_least_epsilon_is_the_inverse_rounded_up(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho_down(epsilon, delta)
    found = least_epsilon_up(rho, delta)
    assert abs(found - epsilon) <= epsilon * F(1, 10**12)
    assert found <= concentrated_epsilon_up(rho, delta)
    assert not exceeds(rho, found, delta)


# --- what it promises: no law of that rho exceeds delta -------------------------------------------------------------------------


def gaussian_delta(rho: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise of that rho (Balle and Wang 2018)."""
    shift = math.sqrt(2 * rho)

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    return below(shift / 2 - epsilon / shift) - math.exp(epsilon) * below(-shift / 2 - epsilon / shift)


def order_divided_twice(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Planted, a wrong form: (1 - 1/a)^a / (a - 1)^2, once more than it is."""

    def admitted(above: Fraction) -> Fraction:
        rest = (log_down(1 + above) + log_down(above) - log_up(1 / delta)) / above
        return (epsilon + log_down(1 + 1 / above) + rest) / (1 + above)

    return max(admitted(F(2 ** (step / 4))) for step in range(-40, 60))


@pytest.mark.parametrize("epsilon", [F(1, 10), F(1), F(8)])
@pytest.mark.parametrize("delta", [F(1, 10**9), MILLIONTH, F(1, 100)])
def test_gaussian_noise_of_the_largest_rho_keeps_within_delta(epsilon: Fraction, delta: Fraction) -> None:
    exact = gaussian_delta(float(largest_rho_down(epsilon, delta)), float(epsilon))
    assert float(delta) / 20 < exact <= float(delta)  # and it is not far below
    if epsilon <= 1:  # where the order is large, it matters how often it divides
        assert gaussian_delta(float(order_divided_twice(epsilon, delta)), float(epsilon)) > float(delta)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([F(1, 10), F(1, 2), F(1), F(2)]), st.integers(1, 60), epsilons, deltas)
def test_it_never_admits_what_exact_composition_exceeds(one: Fraction, count: int, epsilon: Fraction, delta: Fraction) -> None:
    """The worst pure events, `count` of them: their exact delta is within the cap wherever their rhos are."""
    if count * pure_rho_up(one) <= largest_rho_down(epsilon, delta):
        assert exact_pure_delta_up(one, count, epsilon) <= delta


def test_it_never_admits_what_the_privacy_loss_distribution_exceeds() -> None:
    """Questions of epsilon 0.01 in (1, 1e-6): as many as the tight conversion admits are within delta by PLD too."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    fits = int(largest_rho_down(F(1), MILLIONTH) / pure_rho_up(F(1, 100)))
    one = pld.from_randomized_response(2 / (1 + math.exp(0.01)), 2, value_discretization_interval=1e-4)
    assert fits == 487
    assert one.self_compose(fits).get_delta_for_epsilon(1.0) < 1e-6 < one.self_compose(600).get_delta_for_epsilon(1.0)


def test_it_is_the_conversion_of_dp_accounting() -> None:
    """Its Rényi accountant has the same bound for each order, and tries the orders that it is given."""
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    orders = [1 + math.exp(step / 100) for step in range(-300, 600)]
    for rho, delta in ((F(1, 1000), MILLIONTH), (F(1, 2), MILLIONTH), (F(1, 2), F(1, 10**9)), (F(5), F(1, 1000))):
        theirs, _ = compute_epsilon(orders, [order * float(rho) for order in orders], float(delta))
        assert float(least_epsilon_up(rho, delta)) == pytest.approx(theirs, rel=1e-4)
        assert float(least_epsilon_up(rho, delta)) <= theirs * (1 + 1e-12)


# --- pure events ----------------------------------------------------------------------------------------------------------------


def renyi_of_discrete_laplace(epsilon: float, sensitivity: int, shift: int, order: float) -> float:
    """ln of the sum of P^a Q^(1-a) for discrete Laplace noise of scale sensitivity / epsilon, moved by `shift`."""
    fall = epsilon / sensitivity
    reach = int(60 / fall)
    terms = [order * -abs(k) * fall + (1 - order) * -abs(k - shift) * fall for k in range(-reach, reach + shift + 1)]
    top = max(terms)
    whole = (1 + math.exp(-fall)) / (1 - math.exp(-fall))
    return top + math.log(math.fsum(math.exp(term - top) for term in terms)) - math.log(whole)


def continuous_laplace_rho(epsilon: float) -> float:
    """Planted: the rho of continuous Laplace noise, epsilon + e^-epsilon - 1 (its divergence as the order falls to 1)."""
    return epsilon + math.exp(-epsilon) - 1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("sensitivity", [1, 2, 3])
def test_discrete_laplace_noise_keeps_within_the_pure_rho(epsilon: float, sensitivity: int) -> None:
    for shift in range(1, sensitivity + 1):
        for order in (1.0001, 1.5, 2.0, 5.0, 40.0):
            found = renyi_of_discrete_laplace(epsilon, sensitivity, shift, order)
            assert found <= order * (order - 1) * float(pure_rho_up(F(str(epsilon)))) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize(("epsilon", "understated"), [(0.1, 0.03), (1.0, 0.20), (2.0, 0.25)])
def test_the_curve_of_continuous_laplace_noise_understates_a_count(epsilon: float, understated: float) -> None:
    """On a count of step 1 discrete Laplace noise is randomized response: it has the pure rho and nothing less."""
    order = 1.0001
    found = renyi_of_discrete_laplace(epsilon, 1, 1, order) / (order * (order - 1))
    assert found == pytest.approx(float(pure_rho_up(F(str(epsilon)))), rel=1e-3)
    assert 1 - continuous_laplace_rho(epsilon) / found == pytest.approx(understated, abs=0.01)
    assert found > continuous_laplace_rho(epsilon)  # so a ledger that counted it would count too little


@given(st.fractions(0, 300))
@example(F(1, 10**40))
@example(F(200))
def test_the_pure_rho_is_rounded_up_and_no_more_than_half_the_square(epsilon: Fraction) -> None:
    rho = pure_rho_up(epsilon)
    assert rho <= epsilon**2 / 2
    if epsilon < 200 and rho < epsilon**2 / 2:
        exact_up = epsilon * (1 - 2 / (exp_up(epsilon, digits=90) + 1))
        assert exact_up - F(1, 10**60) <= rho <= exact_up + F(1, 10**24)


@given(st.fractions(F(1, 10**6), 150, max_denominator=10**9))
def test_the_epsilon_of_a_pure_rho_is_found_again(epsilon: Fraction) -> None:
    assert abs(pure_epsilon_near(pure_rho_up(epsilon)) - epsilon) < F(1, 10**23) / min(epsilon, F(1, 2)) + F(1, 10**25)
