"""braze.distributions against values that PyTorch 2.15 gave for the same seeds."""
import braze as T
from braze.distributions import Normal, constraints, kl_divergence, register_kl
from support import error


def close(x, wanted):
    return T.allclose(x.double(), T.tensor(wanted, dtype=T.float64), rtol=1e-4, atol=1e-4)


def batched():
    return Normal(T.tensor([0., 1., -2.]), T.tensor([[1.], [2.]]))


def test_draws_are_pytorchs():
    T.manual_seed(3)
    d = batched()
    assert close(d.sample(), [[0.8033, 1.1748, -1.9110], [-1.2274, 1.0924, -4.7365]])
    assert d.sample((3,)).shape == (3, 2, 3)
    T.manual_seed(3)
    one = Normal(0., 1.)
    assert close(one.sample(), 0.8033) and one.sample((3,)).shape == (3,)
    assert close(one.rsample((2,)), [0.0462, -1.3683]) and close(one.rsample(), 0.3375) and close(one.sample([2]), [1.0111, -1.4352])


def test_densities():
    d, x = batched(), T.tensor(0.3)
    assert close(d.log_prob(x), [[-0.9639, -1.1639, -3.5639], [-1.6233, -1.6733, -2.2733]])
    assert close(d.cdf(x), [[0.6179, 0.2420, 0.9893], [0.5596, 0.3632, 0.8749]])
    assert close(d.icdf(x), [[-0.5244, 0.4756, -2.5244], [-1.0488, -0.0488, -3.0488]])
    assert close(d.entropy()[:, 0], [1.4189, 2.1121]) and close(Normal(0., 1.).perplexity(), 4.1327)
    assert close(kl_divergence(Normal(0., 1.), Normal(0.5, 2.)), 0.3494)
    assert d.cdf(d.icdf(T.tensor(0.3))).allclose(T.tensor(0.3))


def test_shapes_and_attributes():
    d = batched()
    assert d.batch_shape == (2, 3) and d.event_shape == () and d.mean.shape == d.stddev.shape == d.variance.shape == (2, 3)
    assert d.variance[:, 0].tolist() == [1.0, 4.0] and d.mode is d.loc
    wide = d.expand((4, 2, 3))
    assert wide.batch_shape == (4, 2, 3) and wide.sample().shape == (4, 2, 3) and wide.loc.stride()[0] == 0
    assert Normal(1, T.tensor([.5, 3.], dtype=T.float64)).loc.dtype is T.float64
    assert Normal(T.zeros(0), 2.).sample((2,)).shape == (2, 0)
    assert repr(Normal(0., 1.)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(d) == "Normal(loc: braze.Size([2, 3]), scale: braze.Size([2, 3]))"


def test_errors():
    assert error(Normal, 0., -1.) == ("ValueError", "Expected parameter scale (Tensor of shape ()) of distribution Normal(loc: 0.0, scale: -1.0) "
                                      "to satisfy the constraint GreaterThan(lower_bound=0.0), but found invalid values:\n-1.0")
    kind, text = error(Normal, T.tensor([0., float("nan")]), 1.)
    assert kind == "ValueError" and "satisfy the constraint Real()" in text
    assert error(Normal, "a", 1.)[0] == "ValueError" and error(Normal, T.ones(2), T.ones(3))[0] == "RuntimeError"
    assert error(batched().log_prob, 1.) == ("ValueError", "The value argument to log_prob must be a Tensor")
    assert error(batched().log_prob, T.ones(7)) == (
        "ValueError", "Value is not broadcastable with batch_shape+event_shape: braze.Size([7]) vs braze.Size([2, 3]).")
    assert "within the support (Real())" in error(Normal(0., 1.).log_prob, T.tensor(float("nan")))[1]
    Normal(0., -1., validate_args=False)
    assert error(kl_divergence, Normal(0., 1.), 1) == (
        "NotImplementedError", "No KL(p || q) is implemented for p type Normal and q type int")
    assert error(register_kl, int, Normal)[0] == "TypeError"


def test_subclasses():
    class Shifted(Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.)
    assert close(kl_divergence(Shifted(1.), Normal(0., 1.)), 0.5)
    assert error(Shifted(T.zeros(2)).expand, (3, 2))[0] == "NotImplementedError"
    assert constraints.positive.check(T.tensor([1., 0.])).tolist() == [True, False]
