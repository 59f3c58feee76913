"""Losses beyond the shared kit: values and gradients of each, by reduction, and errors."""
from kit import table, raised


def setup(T):
    def ramp(*shape):
        n = 1
        for s in shape:
            n *= s
        return ((T.arange(n) * 7 % 11).float() / 5 - 1).reshape(shape)

    def all_of(f, *inputs):
        """Values by reduction and gradients."""
        out = []
        for how in ("none", "sum", "mean"):
            given = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
            y = f(*given, reduction=how)
            (y * ramp(*y.shape) if how == "none" else y).sum().backward()
            out.append((y.detach(), [x.grad for x in given if x.requires_grad]))
        return out
    x = ramp(4, 3)
    return {"ramp": ramp, "all_of": all_of, "x": x, "y": ramp(4, 3) * 1.5 + 0.1, "p": T.sigmoid(x), "c": T.tensor([0, 2, 1, 1]),
            "pm": T.tensor([1., -1., 1., -1.])}


table(setup, """
mse: all_of(F.mse_loss, x, y), F.mse_loss(x, y, weight=ramp(4, 3).abs())
l1: all_of(F.l1_loss, x, y), F.l1_loss(x, x)
smooth_l1: all_of(F.smooth_l1_loss, x, y), F.smooth_l1_loss(x, y, beta=0.2), F.smooth_l1_loss(x, y, beta=0)
huber: all_of(F.huber_loss, x, y), F.huber_loss(x, y, delta=0.3)
bce: all_of(F.binary_cross_entropy, p, T.sigmoid(y)), F.binary_cross_entropy(t([0., 1.]), t([0., 0.])), F.binary_cross_entropy(p, p, weight=y.abs())
bce_logits: all_of(F.binary_cross_entropy_with_logits, x, T.sigmoid(y)), F.binary_cross_entropy_with_logits(x * 100, p, pos_weight=t([1., 2., 3.])), F.binary_cross_entropy_with_logits(x, p, weight=y.abs())
kl: all_of(F.kl_div, x.log_softmax(1), y.softmax(1)), F.kl_div(x, y.log_softmax(1), reduction='batchmean', log_target=True)
poisson: all_of(F.poisson_nll_loss, x, y.abs()), F.poisson_nll_loss(x.abs(), y.abs() * 4, log_input=False, full=True)
gaussian: F.gaussian_nll_loss(x, y, y.abs()), F.gaussian_nll_loss(x, y, t([0.5, 1., 2., 0.]), full=True), F.gaussian_nll_loss(x, y, T.ones(4, 1), reduction='none')
soft_margin: all_of(lambda x, reduction: F.soft_margin_loss(x, y.sign(), reduction=reduction), x)
nll: all_of(F.nll_loss, x.log_softmax(1), c), F.nll_loss(x, c, weight=t([1., 2., 3.]), ignore_index=1), F.nll_loss(x, c, weight=t([1., 2., 3.]), reduction='none')
nll_images: all_of(F.nll_loss, ramp(2, 3, 2, 2), t([[[0, 1], [2, 0]], [[1, 1], [-100, 2]]]))
cross_entropy: all_of(F.cross_entropy, x, c), all_of(lambda x, c, reduction: F.cross_entropy(x, c, weight=t([1., 2., 3.]), label_smoothing=0.2, ignore_index=1, reduction=reduction), x, c)
cross_entropy_images: all_of(F.cross_entropy, ramp(2, 3, 2, 2), t([[[0, 1], [2, 0]], [[1, 1], [-100, 2]]]))
cross_entropy_soft: all_of(F.cross_entropy, x, y.softmax(1)), F.cross_entropy(x, y.softmax(1), weight=t([1., 2., 3.]), label_smoothing=0.1), F.cross_entropy(x[0], y[0].softmax(0))
cross_entropy_alone: F.cross_entropy(x[0], t(2)), F.cross_entropy(x[0], t(2), reduction='none')
cross_entropy_infinite: F.cross_entropy(t([[-float('inf'), 0., 1.], [5., 1., 2.]]), t([-100, 1])), F.cross_entropy(t([[1000., 0., -1000.]]), t([1]))
cross_entropy_errors: raised(lambda: F.cross_entropy(x, c[:3]), has='batch_size'), raised(lambda: F.cross_entropy(x, c, weight=t([1.])), has='weight'), raised(lambda: F.cross_entropy(x, c.float()), at_read=True), raised(lambda: F.cross_entropy(x, t([0, 1, 2, 3])), at_read=True, has='out of bounds'), raised(lambda: F.cross_entropy(x, t([0, 1, 2, -1])), at_read=True), raised(lambda: F.cross_entropy(x, c, reduction='all'), has='reduction')
multi_margin: all_of(F.multi_margin_loss, x, c), F.multi_margin_loss(x, c, p=2, margin=0.5, weight=t([1., 2., 3.])), F.multi_margin_loss(x[0], t(1))
multilabel_margin: all_of(F.multilabel_margin_loss, x, t([[0, 2, -1], [1, -1, 0], [-1, 0, 1], [2, 1, 0]])), F.multilabel_margin_loss(x[0], t([2, -1, 0]))
multilabel_soft_margin: all_of(F.multilabel_soft_margin_loss, x, (y > 0).float()), F.multilabel_soft_margin_loss(x, (y > 0).float(), weight=t([1., 2., 3.]))
hinge_embedding: all_of(F.hinge_embedding_loss, x[:, 0], pm), F.hinge_embedding_loss(x[:, 0], pm, margin=0.3)
cosine_embedding: all_of(F.cosine_embedding_loss, x, y, pm), F.cosine_embedding_loss(x, y, pm, margin=0.5), F.cosine_embedding_loss(x[0], y[0], t(1.))
margin_ranking: all_of(F.margin_ranking_loss, x[:, 0], y[:, 1], pm), F.margin_ranking_loss(x[:, 0], y[:, 1], pm, margin=0.4)
triplet: all_of(F.triplet_margin_loss, x, y, x.flip(0)), F.triplet_margin_loss(x, y, x.flip(0), swap=True, p=1, margin=2.), F.triplet_margin_with_distance_loss(x, y, x.flip(0)), F.triplet_margin_with_distance_loss(x, y, x.flip(0), distance_function=lambda a, b: (a - b).abs().sum(1), swap=True, reduction='none')
ctc: all_of(lambda l, reduction: F.ctc_loss(l, t([[1, 2, 2], [1, 1, 0]]), (6, 5), (3, 2), reduction=reduction), ramp(6, 2, 4).log_softmax(2))
ctc_in_a_row: F.ctc_loss(ramp(6, 2, 4).log_softmax(2), t([1, 2, 2, 1]), t([6, 6]), t([3, 1]), blank=3), F.ctc_loss(ramp(6, 4).log_softmax(1), t([1, 2]), t([6]), t([2]), reduction='none')
ctc_impossible: F.ctc_loss(ramp(2, 1, 4).log_softmax(2), t([[1, 1, 2]]), (2,), (3,)), F.ctc_loss(ramp(2, 1, 4).log_softmax(2), t([[1, 1, 2]]), (2,), (3,), zero_infinity=True), F.ctc_loss(ramp(2, 1, 4).log_softmax(2), T.zeros(1, 0, dtype=T.int64), (2,), (0,))
empty: F.mse_loss(x[:0], y[:0]), F.l1_loss(x[:0], y[:0], reduction='sum'), F.cross_entropy(x[:0], c[:0])
broadcast: F.mse_loss(x, y[0]), F.l1_loss(x, y[:, :1], reduction='none')
doubles: F.cross_entropy(x.double(), c), F.huber_loss(x.double(), y.double())
errors: raised(lambda: F.huber_loss(x, y, delta=0)), raised(lambda: F.smooth_l1_loss(x, y, beta=-1)), raised(lambda: F.binary_cross_entropy(p, y[0])), raised(lambda: F.binary_cross_entropy_with_logits(x, y[0])), raised(lambda: F.mse_loss(x, y, reduction='no'), has='valid'), raised(lambda: F.triplet_margin_loss(x, y, y, margin=-1))
old_flags: nn.MSELoss(size_average=False).reduction, nn.L1Loss(reduce=False).reduction, F.mse_loss(x, y, size_average=False), nn.CrossEntropyLoss(weight=t([1., 2., 3.])).state_dict()
""", rtol=3e-5, atol=3e-6)

table(setup, """
halves: F.mse_loss(x.half(), y.half()), F.cross_entropy(x.bfloat16(), c), F.binary_cross_entropy_with_logits(x.half(), p.half())
""")
