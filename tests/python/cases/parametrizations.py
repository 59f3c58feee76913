"""torch.nn.utils.parametrize, parametrizations, and the older weight_norm and spectral_norm."""
import copy
import pickle
import warnings

from kit import case


def modules(T):
    class Symmetric(T.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, a):
            return a.triu()

    class Exp(T.nn.Module):
        def forward(self, x):
            return x.exp()

    class To(T.nn.Module):
        def __init__(self, change):
            super().__init__()
            self.change = change

        def forward(self, x):
            return self.change(x)
    return Symmetric, Exp, To


def refused(function, *arguments):
    try:
        function(*arguments)
        return "no error"
    except Exception as e:
        return type(e).__name__ + ": " + str(e).replace("torch.", "").replace("braze.", "")


@case(rtol=1e-5, atol=1e-5)
def register_and_remove(T):
    P = T.nn.utils.parametrize
    Symmetric, Exp, To = modules(T)
    T.manual_seed(0)
    m = T.nn.Linear(3, 3)
    P.register_parametrization(m, "weight", Symmetric())
    out = [repr(m), m.weight, [n for n, _ in m.named_parameters()], list(m.state_dict())]
    m.weight = T.ones(3, 3) * 2
    out.append(m.weight)
    P.register_parametrization(m, "weight", Exp())
    P.register_parametrization(m, "bias", Exp())
    out += [m.weight, m.bias, refused(setattr, m, "weight", T.ones(3, 3)), refused(pickle.dumps, m)]
    (m(T.ones(2, 3)) ** 2).sum().backward()
    out += [m.parametrizations.weight.original.grad, m.parametrizations.bias.original.grad, copy.deepcopy(m).weight]
    out += [type(m).__name__, P.type_before_parametrizations(m).__name__, P.is_parametrized(m), P.is_parametrized(m, "x")]
    with P.cached():
        out.append(m.weight is m.weight)
    out.append(m.weight is m.weight)
    P.remove_parametrizations(m, "weight")
    P.remove_parametrizations(m, "bias", False)
    out += [repr(m), m.weight, m.bias, [n for n, _ in m.named_parameters()]]
    out += [refused(P.remove_parametrizations, m, "weight"), refused(P.register_parametrization, m, "nope", Exp())]
    out += [refused(P.register_parametrization, m, "weight", To(lambda x: x.double())),
            refused(P.register_parametrization, m, "weight", To(lambda x: x[0]))]
    P.register_parametrization(m, "weight", Exp())
    out += [refused(P.register_parametrization, m, "weight", To(lambda x: x[0])), refused(P.register_parametrization, m, "weight", To(list))]
    other = T.nn.Linear(3, 3)
    P.transfer_parametrizations_and_params(m, other)
    return out, (other.weight == m.weight).all()


@case(rtol=1e-5, atol=1e-5)
def weight_norm(T):
    Z, P = T.nn.utils.parametrizations, T.nn.utils.parametrize
    T.manual_seed(1)
    m = Z.weight_norm(T.nn.Linear(4, 2))
    m(T.ones(1, 4)).sum().backward()
    out = [repr(m), m.state_dict(), m.weight, m.parametrizations.weight.original0.grad, m.parametrizations.weight.original1.grad]
    m.load_state_dict({"bias": T.zeros(2), "weight_g": T.ones(2, 1), "weight_v": T.ones(2, 4)})
    out.append(m.weight)
    c = Z.weight_norm(T.nn.Conv1d(2, 3, 2), dim=1)
    out += [c.weight, c.parametrizations.weight.original0]
    m = Z.weight_norm(T.nn.Linear(4, 2), dim=None)
    out += [m.weight, m.parametrizations.weight.original0, refused(P.remove_parametrizations, m, "weight", False)]
    P.remove_parametrizations(m, "weight")
    return out, m.weight, type(m.weight).__name__


@case(rtol=1e-4, atol=1e-5)
def spectral_norm(T):
    Z = T.nn.utils.parametrizations
    T.manual_seed(2)
    m = Z.spectral_norm(T.nn.Linear(5, 3))
    out = [repr(m), list(m.state_dict()), m.weight, m.weight]
    (m(T.ones(1, 5)) ** 2).sum().backward()
    m.eval()
    out += [m.parametrizations.weight.original.grad, m.weight, Z.spectral_norm(T.nn.ConvTranspose1d(2, 3, 2)).weight,
            Z.spectral_norm(T.nn.Linear(3, 3), "bias").bias]
    linear = T.nn.Linear(2, 2)
    return out, refused(Z.spectral_norm, linear, "x"), refused(Z.spectral_norm, linear, "weight", 0), refused(Z.spectral_norm, linear, "weight", 1, 1e-12, 3)


@case(rtol=1e-4, atol=1e-5)
def orthogonal(T):
    Z, out = T.nn.utils.parametrizations, []
    for shape in ((3, 3), (2, 4), (4, 2)):
        for kind in (None, "matrix_exp", "cayley", "householder"):
            T.manual_seed(3)
            m = Z.orthogonal(T.nn.Linear(*shape), orthogonal_map=kind)
            (m(T.ones(1, shape[0])) * T.arange(1., shape[1] + 1)).sum().backward()
            original = m.parametrizations.weight.original
            out += [m.weight, original.grad]
            with T.no_grad():
                original.add_(T.arange(float(original.numel())).reshape(original.shape) * 0.1)
            out.append(m.weight)
    T.manual_seed(3)
    out.append(Z.orthogonal(T.nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False).weight)
    return out, refused(Z.orthogonal, T.nn.Linear(3, 3), "weight", "x"), refused(Z.orthogonal, T.nn.Linear(3, 3), "bias")


@case(rtol=1e-4, atol=1e-5)
def orthogonal_by_reflections_alone(T):
    Z, out = T.nn.utils.parametrizations, []
    for shape in ((3, 3), (2, 4), (4, 2), (1, 3)):
        T.manual_seed(5)
        m = Z.orthogonal(T.nn.Linear(*shape), orthogonal_map="householder", use_trivialization=False)
        out += [m.weight, m.parametrizations.weight.original]
        m.weight = T.eye(*m.weight.shape)
        out += [m.weight, m.parametrizations.weight.original]
    return out


@case(rtol=1e-4, atol=1e-5)
def older_hooks(T):
    U, x, out = T.nn.utils, T.ones(1, 3), []
    T.manual_seed(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for add, remove in ((U.weight_norm, U.remove_weight_norm), (U.spectral_norm, U.remove_spectral_norm)):
            m = add(T.nn.Linear(3, 2))
            out += [list(m.state_dict()), m(x), m(x), refused(add, m)]
            m.eval()
            m(x).sum().backward()
            out += [m(x), [p.grad for p in m.parameters()]]
            remove(m)
            out += [list(m.state_dict()), m(x), refused(remove, m)]
    return out
